import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
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
  // On a narrow screen the tabs scroll sideways; the chosen one must be in view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is chosen.
  useEffect(() => {
    const element = list.current as HTMLDivElement;
    const tab = element.querySelector('[aria-selected="true"]')?.getBoundingClientRect();
    const { left, right } = element.getBoundingClientRect();
    if (tab && (tab.left < left || tab.right > right)) element.scrollLeft += (tab.left + tab.right - left - right) / 2;
  }, [current]);
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
