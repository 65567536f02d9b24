import { type ReactNode, useEffect } from 'react';

/** The title in the browser's tab. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Retinue`;
  }, [title]);
}

export interface PageProps {
  /** The heading; it also becomes the title in the browser's tab. */
  title: string;
  /** Shown instead of the title, if the heading is more than text. */
  heading?: ReactNode;
  /** Above the heading, such as breadcrumbs. */
  above?: ReactNode;
  /** One line under the heading. */
  subtitle?: ReactNode;
  /** Buttons beside the heading. */
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of each page: heading, actions, content. */
export function Page({ title, heading, above, subtitle, actions, children }: PageProps): ReactNode {
  usePageTitle(title);
  return (
    <div className="page">
      <header className="page-header">
        <div className="page-titles">
          {above}
          <h1>{heading ?? title}</h1>
          {subtitle !== undefined && <div className="page-subtitle">{subtitle}</div>}
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
