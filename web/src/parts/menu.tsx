import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';

export interface MenuItem {
  label: string;
  run(): void;
  isDanger?: boolean;
  /** Why it cannot be used; null or absent: it can. */
  disabledReason?: string | null;
}

interface MenuProps {
  /** Names the button for screen readers. */
  label: string;
  /** Called when it is opened. */
  items(): MenuItem[];
  children: ReactNode;
  className?: string;
  tabIndex?: number;
}

/** A button that opens a list of commands. The list is in the top layer, so that no container cuts it off. */
export function Menu({ label, items, children, className = 'button', tabIndex }: MenuProps): ReactNode {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<MenuItem[] | null>(null);

  const open = () => {
    setShown(items());
    requestAnimationFrame(() => {
      const element = list.current;
      if (element === null || button.current === null) return;
      element.showPopover();
      place(element, button.current.getBoundingClientRect());
      element.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
    });
  };
  const close = () => {
    list.current?.hidePopover();
    button.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    event.stopPropagation();
    const entries = [...(list.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const targets: Record<string, number> = {
      ArrowDown: (at + 1) % entries.length,
      ArrowUp: (at - 1 + entries.length) % entries.length,
      Home: 0,
      End: entries.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) {
      event.preventDefault();
      entries[target]?.focus();
    } else if (event.key === 'Tab') close();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={shown !== null}
        aria-controls={id}
        tabIndex={tabIndex}
        onClick={(event) => {
          event.stopPropagation();
          if (shown === null) open();
          else close();
        }}
      >
        {children}
      </button>
      {shown !== null && (
        <div
          ref={list}
          id={id}
          role="menu"
          tabIndex={-1}
          popover="auto"
          className="menu"
          aria-label={label}
          onKeyDown={press}
          onToggle={(event) => void (event.newState === 'closed' && setShown(null))}
        >
          {shown.map(({ label: text, run, isDanger, disabledReason }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              className={isDanger ? 'is-danger' : ''}
              aria-disabled={disabledReason ? true : undefined}
              title={disabledReason ?? undefined}
              onClick={(event) => {
                event.stopPropagation();
                if (disabledReason) return;
                close();
                run();
              }}
            >
              {text}
              {disabledReason && <span className="menu-reason">{disabledReason}</span>}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

const margin = 8;

/** Below the button, or above it where there is no room. */
function place(element: HTMLElement, anchor: DOMRect): void {
  const { width, height } = element.getBoundingClientRect();
  const isBelow = anchor.bottom + height + margin < window.innerHeight;
  element.style.top = `${isBelow ? anchor.bottom + 4 : Math.max(margin, anchor.top - height - 4)}px`;
  element.style.left = `${Math.max(margin, Math.min(anchor.right - width, window.innerWidth - width - margin))}px`;
}
