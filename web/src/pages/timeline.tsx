import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function TimelinePage({ id }: { id: string }): ReactNode {
  return (
    <Page title="Timeline">
      <p>The timeline of tree {id} is not built yet.</p>
    </Page>
  );
}
