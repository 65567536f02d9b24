// The terminal lines of OpenFork's page: progress of a subagent under its parent, and a panel with what it came to. Only for runs that were
// created under that dialect.
import type { LiveEvent } from '../api/api.ts';
import type { FactData } from '../contract/fact.ts';
import { createSubSessionMapper, type SubSessionProgress } from '../dialects/openfork/events.ts';
import { clean, cleanLine } from './clean.ts';
import { paint, type Style } from './format.ts';
import type { Io } from './io.ts';
import { cut, pad, width } from './width.ts';

const maxContent = 100;
const styles: Record<SubSessionProgress['partType'], Style | null> = { text: null, tool: 'cyan', error: 'red' };

/** What an event looks like as such a line, `kind` telling which; null where it is none of a subagent's. */
export function createSubagentLines(
  io: Pick<Io, 'columns' | 'colour'>,
): (event: LiveEvent) => { kind: 'progress' | 'end'; text: string } | null {
  const map = createSubSessionMapper();
  const ours = new Set<string>();
  const on = io.colour.err;
  const line = (part: SubSessionProgress['partType'], content: string) => {
    const text = cut(cleanLine(content), maxContent);
    return text === ''
      ? null
      : { kind: 'progress' as const, text: `  ${paint(on, 'dim', '↳ Subagent:')} ${paint(on, styles[part], text)}\n` };
  };
  return (event) => {
    if (event.type === 'delta') return null;
    if (event.type === 'run.created' && event.data.dialect === 'openfork' && event.data.parentId !== null) ours.add(event.runId);
    if (!ours.has(event.runId)) return null;
    if (event.type === 'model.answered') return line('text', textOf(event.data));
    const mapped = map(event);
    if (mapped?.type === 'SubSessionProgress') return line(mapped.partType, mapped.content);
    if (mapped?.type !== 'SubSessionCompleted') return null;
    const text = [`${paint(on, 'green', '✓')} Subagent completed`, ...panel(mapped.result, { columns: io.columns(), on })].join('\n');
    return { kind: 'end', text: `${text}\n` };
  };
}

function textOf({ content }: FactData['model.answered']): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}

const title = 'Subagent Result';

/** A rounded box as wide as its text, and never wider than the terminal. */
function panel(text: string, { columns, on }: { columns: number; on: boolean }): string[] {
  const most = Math.max(title.length, columns - 4);
  const lines = clean(text)
    .replaceAll('\t', '  ')
    .split('\n')
    .flatMap((each) => wrapped(each, most));
  const inner = Math.max(title.length, ...lines.map(width));
  const edge = (part: string) => paint(on, 'green', part);
  return [
    edge(`╭─${title}${'─'.repeat(inner + 1 - title.length)}╮`),
    ...lines.map((each) => `${edge('│')} ${pad(each, inner)} ${edge('│')}`),
    edge(`╰${'─'.repeat(inner + 2)}╯`),
  ];
}

function wrapped(line: string, columns: number): string[] {
  const lines = [''];
  for (const character of line) {
    const last = lines.length - 1;
    if (width((lines[last] as string) + character) > columns) lines.push(character);
    else lines[last] += character;
  }
  return lines;
}
