import type { ReactNode } from 'react';
import { useServer } from '../data/context.tsx';
import { useQuestions } from '../data/use-questions.tsx';
import { Link, navigate, useRoute } from '../router.tsx';
import { ThemeToggle } from './theme.tsx';

const items = [
  { to: '/', label: 'Trees', matches: ['', 'trees', 'runs'] },
  { to: '/approvals', label: 'Approvals', matches: ['approvals'] },
  { to: '/costs', label: 'Costs', matches: ['costs'] },
  { to: '/search', label: 'Search', matches: ['search'] },
  { to: '/start', label: 'Start a run', matches: ['start'] },
];

export function Sidebar({ onHelp }: { onHelp(): void }): ReactNode {
  const { segments } = useRoute();
  const { questions = [] } = useQuestions();
  const info = useServer();
  const section = segments[0] ?? '';
  return (
    <header className="sidebar">
      <div className="sidebar-top">
        <Link to="/" className="brand" aria-label="Retinue, to the list of trees">
          <Logo />
          <span>Retinue</span>
        </Link>
        <WorkspacePicker />
      </div>
      <nav aria-label="Main" className="nav">
        {items.map(({ to, label, matches }) => (
          <Link key={to} to={to} className="nav-item" aria-current={matches.includes(section) ? 'page' : undefined}>
            {label}
            {to === '/approvals' && questions.length > 0 && (
              <span className="nav-count">
                {questions.length}
                <span className="visually-hidden"> waiting</span>
              </span>
            )}
          </Link>
        ))}
      </nav>
      <div className="sidebar-bottom">
        <ThemeToggle />
        <button type="button" className="icon-button" title="Keyboard help (?)" aria-label="Keyboard help" onClick={onHelp}>
          ?
        </button>
        {info !== null && (
          <span className="sidebar-note muted">
            {info.server.version}
            {info.server.role !== 'start' && ` · ${info.server.role} only`}
          </span>
        )}
      </div>
    </header>
  );
}

/** Only if the server knows several workspaces. */
function WorkspacePicker(): ReactNode {
  const info = useServer();
  const { query } = useRoute();
  if (info === null) return null;
  const { server, workspaces, reload } = info;
  const current = query.get('workspace') ?? server.workspace;
  const chosen = workspaces.find(({ id }) => id === current);
  if (workspaces.length < 2)
    return (
      <span className="workspace-name" title={chosen?.path}>
        {lastFolder(chosen?.path ?? '')}
      </span>
    );
  return (
    <label className="workspace-picker">
      <span className="visually-hidden">Workspace</span>
      <select
        value={current}
        title={chosen?.path}
        onFocus={reload}
        onChange={(event) => {
          const { value } = event.target;
          window.history.pushState(null, '', '/');
          navigate(value === server.workspace ? '/' : `/?workspace=${encodeURIComponent(value)}`);
        }}
      >
        {workspaces.map(({ id, path, live, questions }) => (
          <option key={id} value={id} disabled={live === null}>
            {[lastFolder(path), describeWorkspace(live, questions)].filter((part) => part !== '').join(' · ')}
          </option>
        ))}
      </select>
    </label>
  );
}

function lastFolder(path: string): string {
  return path.split('/').filter(Boolean).at(-1) ?? path;
}

function describeWorkspace(live: number | null, questions: number | null): string {
  if (live === null) return 'cannot be read';
  return [live > 0 ? `${live} live` : '', questions !== null && questions > 0 ? `${questions} waiting` : ''].filter(Boolean).join(', ');
}

function Logo(): ReactNode {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true" className="logo">
      <rect width="32" height="32" rx="8" />
      <path d="M10 10v7a4 4 0 0 0 4 4h6M10 13h10" />
      <circle cx="10" cy="9" r="3" />
      <circle cx="22" cy="13" r="3" />
      <circle cx="22" cy="21" r="3" />
    </svg>
  );
}
