import type { Json } from '../../contract/json.ts';
import { sanitizeLine } from '../../text/terminal.ts';

/** Identifies a call within its run. */
export function callKey(call: { turn: number; index: number }): string {
  return `${call.turn}.${call.index}`;
}

/** A call in a few words: the tool and its most telling argument. */
export function describeCall(tool: string, input: Json): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return sanitizeLine(tool);
  if (Array.isArray(input.tasks)) return sanitizeLine(`${tool} ×${input.tasks.length}`);
  const mainArgument = ['path', 'command', 'pattern', 'url', 'query', 'task', 'id', 'action']
    .map((key) => input[key])
    .find((value) => typeof value === 'string');
  return sanitizeLine(mainArgument === undefined ? tool : `${tool} ${(mainArgument as string).slice(0, 200)}`);
}
