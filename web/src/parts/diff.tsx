import { type ReactNode, useMemo, useState } from 'react';
import { sanitizeText } from '../../../src/text/terminal.ts';
import { ScrollRegion, ShowAll } from './text.tsx';

const maxLines = 60;

type LineKind = 'added' | 'removed' | 'hunk' | 'head' | 'same';

/** The names of the file come before the first hunk; a changed line may begin like them. */
function classifyDiffLines(diff: string): { kind: LineKind; text: string }[] {
  let isBody = false;
  return diff.split('\n').map((text) => {
    if (text.startsWith('@@')) {
      isBody = true;
      return { kind: 'hunk', text };
    }
    if (!isBody) return { kind: 'head', text };
    return { kind: text.startsWith('+') ? 'added' : text.startsWith('-') ? 'removed' : 'same', text };
  });
}

/** A unified diff. Long ones are folded. `hideNames`: without the lines that name the file. */
export function Diff({ diff, label, hideNames = false }: { diff: string; label?: string; hideNames?: boolean }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const lines = useMemo(() => {
    const all = classifyDiffLines(sanitizeText(diff.trimEnd()));
    return hideNames && all.some(({ kind }) => kind === 'hunk') ? all.filter(({ kind }) => kind !== 'head') : all;
  }, [diff, hideNames]);
  const shown = isOpen ? lines : lines.slice(0, maxLines);
  return (
    <div className="code code-diff">
      <ScrollRegion label={label ?? 'Diff'}>
        <pre>
          {shown.map(({ kind, text }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its number.
            <span key={i} className={`diff-line diff-${kind}`}>
              {text === '' ? ' ' : text}
              {'\n'}
            </span>
          ))}
        </pre>
      </ScrollRegion>
      {lines.length > maxLines && <ShowAll isOpen={isOpen} lines={lines.length} onToggle={() => setOpen(!isOpen)} />}
    </div>
  );
}
