import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function CostsPage(): ReactNode {
  return (
    <Page title="Costs">
      <p>Costs are not built yet.</p>
    </Page>
  );
}
