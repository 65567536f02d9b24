import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function TreesPage(): ReactNode {
  return (
    <Page title="Trees">
      <p>The list of trees is not built yet.</p>
    </Page>
  );
}
