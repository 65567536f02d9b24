// What the arguments and standard input of `run` say about its brief: task, parameters, checks, tools and the form of the result.
import type { Check } from '../../contract/check.ts';
import { RetinueError } from '../../contract/error.ts';
import { maxTaskBytes } from '../../contract/task-size.ts';
import type { Args } from '../args/parse-args.ts';
import { runSettings } from '../args/settings-flags.ts';
import type { Io } from '../io.ts';
import { chooseServer } from './server.ts';

/** `input`: standard input that does not fit into the task, and becomes a file. */
export async function readTask(args: Args, io: Io, isOptional: () => Promise<boolean>): Promise<{ task: string; input: string | null }> {
  const words = args.positionals.filter((word) => word !== '-').join(' ');
  const input = args.positionals.includes('-') ? (await io.readStdin()).trimEnd() : '';
  if (input.slice(0, 8192).includes('\0'))
    throw new RetinueError(
      'usage',
      'standard input is binary, and only text can be given to an agent; put the file into the workspace and name it in the task',
    );
  if (words.trim() === '' && input.trim() === '') {
    if (await isOptional()) return { task: ownTask, input: null };
    throw new RetinueError('usage', 'the task is missing; write `retinue run "what to do"`, with `-` to add standard input');
  }
  if (Buffer.byteLength(words) > maxTaskBytes)
    throw new RetinueError(
      'usage',
      `the task has ${Buffer.byteLength(words)} bytes, and at most ${maxTaskBytes} are possible; give long material with --file, or on standard input with \`-\``,
    );
  const task = [words, input].filter((part) => part.trim() !== '').join('\n\n');
  if (Buffer.byteLength(task) <= maxTaskBytes) return { task, input: null };
  return { task: words.trim() === '' ? 'Do what the attached file says.' : words, input };
}

/** For an agent whose prompt contains the task. */
const ownTask = 'Do the task that your instructions describe.';

export async function hasOwnTask(args: Args, io: Io): Promise<boolean> {
  const name = args.value('agent');
  const flags = runSettings(args);
  if (name === undefined || chooseServer(io, flags) !== null) return false;
  return (await io.settings(flags)).agents().list.some((agent) => agent.name === name && agent.hasTask === true);
}

export function parseParams(args: Args): Record<string, string> | undefined {
  const pairs = args.values('param').map((text): [string, string] => {
    const at = text.indexOf('=');
    if (at < 1) throw new RetinueError('usage', `--param ${text}: write it as NAME=VALUE`);
    return [text.slice(0, at).trim(), text.slice(at + 1)];
  });
  const twice = pairs.find(([name], index) => pairs.findIndex(([other]) => other === name) !== index);
  if (twice) throw new RetinueError('usage', `--param ${twice[0]} is given twice`);
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

export function parseChecks(args: Args): Check[] | undefined {
  const commands = args.values('verify').map((command) => ({ command }));
  const reviews = args.values('review').map((task) => ({ agent: 'review', task }));
  return commands.length + reviews.length === 0 ? undefined : [...commands, ...reviews];
}

/** Undefined means all tools of the agent; an empty list means none. */
export function parseTools(args: Args): { allow: string[] } | undefined {
  const lists = args.values('tools');
  if (lists.length === 0) return undefined;
  const names = lists.flatMap((list) => list.split(',')).map((name) => name.trim());
  return { allow: names.filter((name) => name !== '') };
}

export async function readSchema(args: Args, io: Io): Promise<object | undefined> {
  const path = args.value('output-schema');
  if (path === undefined) return undefined;
  const text = await io.readFile(path);
  let schema: unknown;
  try {
    schema = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new RetinueError('usage', `--output-schema: ${path} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return schema;
  throw new RetinueError(
    'usage',
    `--output-schema: ${path} is not a JSON Schema, which is a JSON object; write for example {"type":"object","properties":{…}}`,
  );
}
