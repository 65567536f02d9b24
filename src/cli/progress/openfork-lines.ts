// Progress in the format of OpenFork: a line per step of a subagent, and a panel with its result. Only for runs of that dialect.
import type { LiveEvent } from '../../api/api.ts';
import { createSubSessionMapper, type SubSessionProgress } from '../../dialects/openfork/events.ts';
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { paint, type Style } from '../../views/style.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';
import { wrapText } from '../../views/wrap.ts';
import type { Io } from '../io.ts';

const maxContent = 100;
const styles: Record<SubSessionProgress['partType'], Style | null> = { text: null, tool: 'cyan', error: 'red' };

/** Null if the event is not one of a subagent. */
export function createOpenforkLines(
  io: Pick<Io, 'columns' | 'colour'>,
): (event: LiveEvent) => { kind: 'progress' | 'end'; text: string } | null {
  const map = createSubSessionMapper();
  const subagents = new Set<string>();
  const on = io.colour.err;
  const line = (part: SubSessionProgress['partType'], content: string) => {
    const text = cutToWidth(sanitizeLine(content), maxContent);
    return text === ''
      ? null
      : { kind: 'progress' as const, text: `  ${paint(on, 'dim', '↳ Subagent:')} ${paint(on, styles[part], text)}\n` };
  };
  return (event) => {
    if (event.type === 'delta') return null;
    if (event.type === 'run.created' && event.data.dialect === 'openfork' && event.data.parentId !== null) subagents.add(event.runId);
    if (!subagents.has(event.runId)) return null;
    const mapped = map(event);
    if (mapped?.type === 'SubSessionProgress') return line(mapped.partType, mapped.content);
    if (mapped?.type !== 'SubSessionCompleted') return null;
    const text = [`${paint(on, 'green', '✓')} Subagent completed`, ...renderPanel(mapped.result, { columns: io.columns(), on })].join('\n');
    return { kind: 'end', text: `${text}\n` };
  };
}

const title = 'Subagent Result';

/** A rounded box as wide as its text, at most as wide as the terminal. */
function renderPanel(text: string, { columns, on }: { columns: number; on: boolean }): string[] {
  const most = Math.max(title.length, columns - 4);
  const lines = wrapText(sanitizeText(text), most);
  const inner = Math.max(title.length, ...lines.map(textWidth));
  const edge = (part: string) => paint(on, 'green', part);
  return [
    edge(`╭─${title}${'─'.repeat(inner + 1 - title.length)}╮`),
    ...lines.map((each) => `${edge('│')} ${padToWidth(each, inner)} ${edge('│')}`),
    edge(`╰${'─'.repeat(inner + 2)}╯`),
  ];
}
