import type { Settings } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { attend, type Manner } from '../attend.ts';
import { cleanLine } from '../clean.ts';
import type { Args } from '../flags.ts';
import { shortId } from '../format.ts';
import { hintInterrupted } from '../gone.ts';
import type { Detached, Io } from '../io.ts';
import { printJson } from '../json.ts';
import { askOf, hostOf, runFlags, settle, withApi } from '../session.ts';

/** What a brief's task holds; more than that from standard input becomes its context. */
const maxTaskBytes = 65_536;

export async function run(args: Args, io: Io): Promise<number> {
  const manner = mannerOf(args);
  const flags = runFlags(args);
  const schema = await schemaOf(args, io);
  const text = await textOf(args, io);
  const open = { ...optional('dialect', args.value('dialect')), ...optional('host', hostOf(args)), ...optional('askMs', askOf(args, io)) };
  const ground = { flags, agents: { chosen: args.value('agent') } };
  const briefFor = async ({ workspace }: Settings) => ({
    ...text,
    ...optional('agent', args.value('agent')),
    ...optional('label', args.value('label')),
    ...optional('model', args.value('model')),
    ...optional('files', await filesOf(args, io, workspace)),
    ...optional('tools', toolsOf(args)),
    ...optional('limits', Object.keys(flags.limits).length === 0 ? undefined : flags.limits),
    ...optional('result', schema === undefined ? undefined : { schema }),
  });
  if (args.has('detach')) {
    if (manner.stream)
      throw new RetinueError('usage', '--detach and --stream-json exclude each other; `retinue logs ID -f --json` follows it');
    const settings = await settle(io, ground);
    return detached(io, await io.detach({ flags, brief: await briefFor(settings), open }, settings), manner.json);
  }
  return withApi(io, { ...ground, ...open, drive: true, startsRuns: true }, async (api, settings) => {
    const brief = await briefFor(settings);
    const code = (await attend(io, api, { ...manner, start: () => api.start(brief) })) ?? 0;
    await hintInterrupted(io, api);
    return code;
  });
}

function detached(io: Io, { runId, log }: Detached, json: boolean): number {
  if (json) printJson(io, { runId });
  else io.out(`${runId}\n`);
  const id = shortId(runId);
  io.err(`retinue: it runs in the background: retinue logs ${id} -f · retinue wait ${id} · retinue cancel ${id}\n`);
  io.err(`retinue: what it says goes to ${cleanLine(log)}\n`);
  return 0;
}

export function mannerOf(args: Args): Manner {
  const [json, stream] = [args.has('json'), args.has('stream-json')];
  if (json && stream) throw new RetinueError('usage', '--json and --stream-json exclude each other');
  return { json, stream, plain: args.has('plain') };
}

/** Task and context. `-` among the words stands for standard input. */
async function textOf(args: Args, io: Io): Promise<{ task: string; context?: string }> {
  const words = args.words.filter((word) => word !== '-').join(' ');
  const more = args.words.includes('-') ? (await io.readStdin()).trimEnd() : '';
  const given = args.value('context');
  if (words.trim() === '' && more.trim() === '')
    throw new RetinueError('usage', 'a task is missing; write `retinue run "what to do"`, with `-` to read more from standard input');
  const task = [words, more].filter((part) => part.trim() !== '').join('\n\n');
  if (Buffer.byteLength(task) <= maxTaskBytes || words.trim() === '') return { task, ...optional('context', given) };
  return { task: words, context: [given ?? '', more].filter((part) => part !== '').join('\n\n') };
}

/** Absent means every tool that the agent has; an empty list means none. */
function toolsOf(args: Args): { allow: string[] } | undefined {
  const lists = args.values('tools');
  if (lists.length === 0) return undefined;
  return {
    allow: lists
      .flatMap((list) => list.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  };
}

async function filesOf(args: Args, io: Io, workspace: string): Promise<string[] | undefined> {
  const paths = args.values('file');
  return paths.length === 0 ? undefined : Promise.all(paths.map((path) => io.findFile(workspace, path)));
}

async function schemaOf(args: Args, io: Io): Promise<object | undefined> {
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
  throw new RetinueError('usage', `--output-schema: ${path} holds no JSON Schema; that is an object`);
}

function optional<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };
}
