import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function RunPage({ id }: { id: string }): ReactNode {
  return (
    <Page title="Run">
      <p>The page of run {id} is not built yet.</p>
    </Page>
  );
}
