import type { Json } from '../contract/json.ts';
import { submitTool } from '../contract/tool-names.ts';
import { sanitizeLine } from '../text/terminal.ts';

/** Identifies a call within its run. */
export function callKey(call: { turn: number; index: number }): string {
  return `${call.turn}.${call.index}`;
}

/** Arguments that say most about a call, the most telling first. A path says little beside what is looked for in it. */
const tellingArguments = [
  'pattern',
  'command',
  'url',
  'query',
  'path',
  'file_path',
  'label',
  'task',
  'description',
  'prompt',
  'title',
  'id',
  'action',
];

const maxChars = 200;

/** A call in a few words: the tool and its most telling argument. */
export function describeCall(tool: string, input: Json): string {
  if (tool === submitTool) return 'submits its result';
  return sanitizeLine(`${tool} ${describeArguments(input)}`.trim());
}

function describeArguments(input: Json): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return '';
  const { tasks, path } = input;
  if (Array.isArray(tasks)) return (tasks.length === 1 && describeArguments(tasks[0] as Json)) || `×${tasks.length}`;
  const texts = Object.entries(input).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' && value !== '' ? [[key, value]] : [],
  );
  const rank = (key: string) => (tellingArguments.includes(key) ? tellingArguments.indexOf(key) : tellingArguments.length);
  const [first] = texts.toSorted(([a], [b]) => rank(a) - rank(b));
  if (first === undefined) return '';
  const [key, value] = first;
  const place = key === 'pattern' && typeof path === 'string' && path !== '.' && path !== '' ? ` in ${path}` : '';
  return value.slice(0, maxChars) + place.slice(0, maxChars);
}
