import { type KeyboardEvent, type ReactNode, useRef } from 'react';
import { Link, navigate } from '../router.tsx';

export interface Tab {
  id: string;
  label: string;
  /** The address of the tab. */
  to: string;
  count?: number | undefined;
}

/** Tabs that are addresses. Arrow keys move between them. Put the content into a `TabPanel`. */
export function Tabs({ tabs, current, label }: { tabs: Tab[]; current: string; label: string }): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === current);
    const next = tabs[(at + step + tabs.length) % tabs.length] as Tab;
    navigate(next.to, { replace: true });
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={press}>
      {tabs.map(({ id, label: text, to, count }) => (
        <Link
          key={id}
          to={to}
          role="tab"
          id={`tab-${id}`}
          data-tab={id}
          className="tab"
          aria-selected={id === current}
          aria-controls={`panel-${id}`}
          tabIndex={id === current ? 0 : -1}
        >
          {text}
          {count !== undefined && count > 0 && <span className="tab-count">{count}</span>}
        </Link>
      ))}
    </div>
  );
}

export function TabPanel({ id, children }: { id: string; children: ReactNode }): ReactNode {
  return (
    <div role="tabpanel" id={`panel-${id}`} aria-labelledby={`tab-${id}`} className="tab-panel">
      {children}
    </div>
  );
}
