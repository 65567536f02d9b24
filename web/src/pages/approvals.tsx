import type { ReactNode } from 'react';
import { Page } from '../parts/page.tsx';

export function ApprovalsPage(): ReactNode {
  return (
    <Page title="Approvals">
      <p>The inbox is not built yet.</p>
    </Page>
  );
}
