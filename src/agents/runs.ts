// The key `runs` of an agent file: the external program that does the work.
import { ExternalAgent, externalPrograms } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { unknownNameMessage } from '../text/suggest.ts';

const expected = `a name (${externalPrograms.join(', ')}), \`{ program: claude, login: own }\` or \`{ acp: [command, argument] }\``;

/** Throws `invalid_config`. */
export function parseRuns(value: Json): ExternalAgent {
  const given = typeof value === 'string' ? { program: value } : value;
  const parsed = ExternalAgent.safeParse(given);
  if (parsed.success) return parsed.data;
  const name = typeof given === 'object' && given !== null && !Array.isArray(given) ? given.program : undefined;
  if (typeof name === 'string' && !(externalPrograms as readonly string[]).includes(name))
    throw new RetinueError('invalid_config', `\`runs\`: ${unknownNameMessage('program', name, [...externalPrograms])}`);
  throw new RetinueError('invalid_config', `\`runs\` must be ${expected}`);
}
