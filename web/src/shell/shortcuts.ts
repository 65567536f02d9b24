// Keys of the whole dashboard. Pages handle their own keys; `keyTable` lists all for the help.
import { useEffect, useRef } from 'react';
import { navigate } from '../router.tsx';

export const keyTable: { where: string; keys: [string, string][] }[] = [
  {
    where: 'Everywhere',
    keys: [
      ['?', 'show or hide this help'],
      ['g t', 'trees'],
      ['g a', 'approvals'],
      ['g c', 'costs'],
      ['g s', 'search'],
      ['g n', 'start a run'],
      ['/', 'filter this list, or search'],
      ['Esc', 'close a dialog'],
    ],
  },
  {
    where: 'In a list or a tree of runs',
    keys: [
      ['↑ ↓', 'move'],
      ['← →', 'fold and unfold, or go to the parent or the first child'],
      ['Home End', 'first and last'],
      ['Enter', 'open'],
    ],
  },
  {
    where: 'On the page of a run',
    keys: [
      ['[ ]', 'previous and next sibling'],
      ['u', 'up to the parent'],
    ],
  },
  {
    where: 'On a timeline',
    keys: [
      ['+ -', 'zoom in and out; also Ctrl and the wheel, or drag over a range'],
      ['0', 'show everything'],
      ['Shift ← →', 'move the visible range'],
      ['[ ]', 'previous and next segment of the run'],
      ['p', 'show only the critical path, or everything'],
    ],
  },
];

const targets: Record<string, string> = { t: '/', a: '/approvals', c: '/costs', s: '/search', n: '/start' };
const chordMs = 1_500;

/** Whether a key is meant for a field or a dialog instead of the page. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return (
    event.defaultPrevented ||
    event.metaKey ||
    event.ctrlKey ||
    event.altKey ||
    target?.isContentEditable === true ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target?.tagName ?? '') ||
    document.querySelector('dialog[open]') !== null
  );
}

/** Calls the handler with each key that is meant for the page. */
export function usePageKeys(handle: (key: string, event: KeyboardEvent) => void): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const press = (event: KeyboardEvent) => void (isTyping(event) || latest.current(event.key, event));
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}

export function useGlobalKeys(toggleHelp: () => void): void {
  const chordAt = useRef(Number.NEGATIVE_INFINITY);
  usePageKeys((key, event) => {
    if (key === '?') return toggleHelp();
    if (key === '/') {
      event.preventDefault();
      const field = document.querySelector<HTMLElement>('[data-filter]');
      return field ? field.focus() : navigate('/search');
    }
    const target = targets[key];
    if (event.timeStamp - chordAt.current < chordMs && target !== undefined) navigate(target);
    chordAt.current = key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
  });
}
