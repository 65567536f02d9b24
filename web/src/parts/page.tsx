import { type ReactNode, useEffect } from 'react';
import { useQuestions } from '../data/use-questions.tsx';

/** The title in the browser's tab, with the number of calls that wait for approval. */
function usePageTitle(title: string): void {
  const { questions = [] } = useQuestions();
  const waiting = questions.length === 0 ? '' : `(${questions.length}) `;
  useEffect(() => {
    document.title = `${waiting}${title} · Retinue`;
  }, [title, waiting]);
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
