import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function SearchPage(): ReactNode {
  return (
    <Page title="Search">
      <p>Search is not built yet.</p>
    </Page>
  );
}
