// Text of models, tools and files. It is shown as text: escape sequences are removed, and invisible characters become marks.
import { type ReactNode, useMemo, useState } from 'react';
import { sanitizeText } from '../../../src/text/terminal.ts';
import { CopyButton } from './copy-button.tsx';

const defaultLines = 12;
const maxLineChars = 400;

export interface FoldedText {
  shown: string;
  /** Lines in total; 0 if nothing is hidden. */
  lines: number;
}

/** The beginning of a long text. A very long line counts as several. */
export function foldText(text: string, maxLines: number): FoldedText {
  const lines = text.split('\n');
  let used = 0;
  let end = 0;
  while (end < lines.length && used < maxLines) used += Math.max(1, Math.ceil((lines[end++] as string).length / maxLineChars));
  const shown = lines
    .slice(0, end)
    .join('\n')
    .slice(0, maxLines * maxLineChars);
  return shown.length < text.length ? { shown: shown.toWellFormed(), lines: lines.length } : { shown: text, lines: 0 };
}

export interface CodeBlockProps {
  text: string;
  /** Names the block for screen readers. */
  label?: string;
  /** More lines are folded away until the user asks for them. */
  maxLines?: number;
  /** A button that copies the whole text. */
  canCopy?: boolean;
  tone?: 'plain' | 'error' | 'muted';
  /** The text is safe to show already, and every character of it counts. */
  isExact?: boolean;
}

export function CodeBlock({
  text,
  label,
  maxLines = defaultLines,
  canCopy = false,
  tone = 'plain',
  isExact = false,
}: CodeBlockProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const clean = useMemo(() => (isExact ? text : sanitizeText(text.trimEnd())), [text, isExact]);
  const { shown, lines } = useMemo(() => foldText(clean, maxLines), [clean, maxLines]);
  return (
    <div className={`code code-${tone} ${canCopy ? 'code-copyable' : ''}`}>
      {canCopy && <CopyButton text={text} label={`Copy ${label ?? 'text'}`} />}
      <ScrollRegion label={label ?? 'Text'}>
        <pre>{isOpen ? clean : shown}</pre>
      </ScrollRegion>
      {lines > 0 && <ShowAll isOpen={isOpen} lines={lines} onToggle={() => setOpen(!isOpen)} />}
    </div>
  );
}

/** A box that scrolls. It can be focused, so that the keyboard can scroll it too. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable with the keyboard.
    <section className="code-scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

export function ShowAll({ isOpen, lines, onToggle }: { isOpen: boolean; lines: number; onToggle(): void }): ReactNode {
  return (
    <button type="button" className="show-all" aria-expanded={isOpen} onClick={onToggle}>
      {isOpen ? 'Show less' : lines > 1 ? `Show all ${lines.toLocaleString('en')} lines` : 'Show all'}
    </button>
  );
}
