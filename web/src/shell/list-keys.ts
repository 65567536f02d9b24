import type { KeyboardEvent } from 'react';

/** Arrow keys, Home and End move the focus between the elements with `data-row` in a list. */
export function moveFocus(event: KeyboardEvent, list: HTMLElement | null): void {
  const rows = [...(list?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const targets: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
  const target = targets[event.key];
  if (target === undefined || at === -1) return;
  event.preventDefault();
  rows[Math.min(rows.length - 1, Math.max(0, target))]?.focus();
}
