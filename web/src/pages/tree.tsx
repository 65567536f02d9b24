import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function TreePage({ id }: { id: string }): ReactNode {
  return (
    <Page title="Tree">
      <p>The page of tree {id} is not built yet.</p>
    </Page>
  );
}
