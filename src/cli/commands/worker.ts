import { RetinueError } from '../../contract/error.ts';
import { parseDurationFlag, parseIntegerFlag } from '../args/flag-values.ts';
import type { Args } from '../args/parse-args.ts';
import { defaultQuestionMs, runSettings } from '../args/settings-flags.ts';
import { addDirFlag, askFlag, type Command, jsonFlag, sandboxFlag, writingFlags } from '../command.ts';
import { DatabaseOpenError } from '../errors.ts';
import type { Io } from '../io.ts';
import { loadSettings } from '../session/open-api.ts';
import { defaultQueue, requireServer } from '../session/queues.ts';
import { waitForStop } from '../session/wait-for-stop.ts';
import type { WorkerRequest } from '../worker-io.ts';

const defaultConcurrency = 4;
const defaultGraceMs = 20_000;
/** Beside the grace time: closing everything must not take longer. */
const closingMs = 10_000;

export const workerCommand: Command = {
  name: 'worker',
  group: 'integrate',
  usage: '[--queue NAME] [--concurrency N] [flags]',
  summary: 'take queued runs from a PostgreSQL database and drive them',
  about:
    'Takes runs that were queued with `retinue run --queue`, the library or MCP, each with all its children. Start as many workers as you like, on as many machines: a run is driven by one of them at a time. If a worker dies, another one continues its runs from what is recorded; finished work is not repeated.\n\n' +
    'The workers of a database need the same key for orders (RETINUE_ORDER_KEY), and the API keys of the models. A run works in a fresh checkout of the repository that it names, or in a folder that the worker shares, at the same path. SIGTERM and Ctrl-C hand the runs back to the queue; a second Ctrl-C exits at once. See docs/cluster.md.',
  flags: [
    {
      name: 'queue',
      value: 'NAME',
      repeatable: true,
      help: `take runs from this queue; the first one is served first (default: ${defaultQueue})`,
    },
    { name: 'concurrency', value: 'N', help: `how many runs it drives at a time, without their children (default: ${defaultConcurrency})` },
    { name: 'per-group', value: 'N', help: 'how many runs of one --group run at a time, over all workers (default: unlimited)' },
    { name: 'per-queue', value: 'N', help: 'how many runs of one queue run at a time, over all workers (default: unlimited)' },
    { name: 'workspace-root', value: 'DIR', help: 'where checkouts of repositories are made (default: the state folder of the user)' },
    {
      name: 'shared',
      value: 'DIR',
      repeatable: true,
      help: 'a folder that runs may use as their workspace, with everything in it (default: the workspace of the worker)',
    },
    { name: 'grace', value: 'TIME', help: 'how long a run has to reach its next step when the worker stops (default: 20s)' },
    { name: 'name', value: 'TEXT', help: 'what `retinue queue` and `ps` call it (default: HOST:PID)' },
    { name: 'health', value: '[HOST:]PORT', help: 'answer /healthz and /readyz there (default: nowhere; the host is 127.0.0.1)' },
    { ...askFlag, help: 'how long a call that needs approval waits for an answer (default: 10m)' },
    sandboxFlag,
    addDirFlag,
    { ...jsonFlag, help: 'write each log line as JSON' },
    ...writingFlags,
  ],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue worker --db postgres://localhost/retinue', 'takes runs from the queue `default`'],
    ['retinue worker --queue urgent --queue default --concurrency 8', 'serves `urgent` first'],
    ['retinue worker --health 0.0.0.0:8080 --json', 'in a container'],
  ],
  exitCodes: 'watch',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const parsed = parseRequest(args);
  const settings = await loadSettings(io, { flags: runSettings(args), agents: { chosen: undefined } });
  requireServer(settings, 'a worker takes runs from a queue, which needs');
  const [root, shared] = [args.value('workspace-root'), args.values('shared')];
  const request: WorkerRequest = {
    ...parsed,
    workspaceRoot: root === undefined ? undefined : io.resolvePath(root),
    shared: shared.length === 0 ? [settings.workspace] : shared.map((folder) => io.resolvePath(folder)),
  };
  const worker = await io.work(request, settings).catch((error: unknown) => {
    throw new DatabaseOpenError(error);
  });
  const stop = waitForStop(io, 'handing runs back; press Ctrl-C again to exit at once', request.graceMs + closingMs);
  await stop.requested;
  await worker.stop();
  stop.end();
  return 0;
}

function parseRequest(args: Args): Omit<WorkerRequest, 'workspaceRoot' | 'shared'> {
  const [concurrency, perGroup, perQueue, grace, ask] = ['concurrency', 'per-group', 'per-queue', 'grace', 'ask'].map((name) =>
    args.value(name),
  );
  const queues = [...new Set(args.values('queue'))];
  return {
    name: args.value('name'),
    queues: queues.length === 0 ? [defaultQueue] : queues,
    concurrency: concurrency === undefined ? defaultConcurrency : parseIntegerFlag('--concurrency', concurrency, { min: 1, max: 1_000 }),
    perGroup: perGroup === undefined ? undefined : parseIntegerFlag('--per-group', perGroup, { min: 1, max: 10_000 }),
    perQueue: perQueue === undefined ? undefined : parseIntegerFlag('--per-queue', perQueue, { min: 1, max: 10_000 }),
    graceMs: grace === undefined ? defaultGraceMs : parseDurationFlag('--grace', grace),
    health: parseHealth(args.value('health')),
    askMs: ask === undefined ? defaultQuestionMs : parseDurationFlag('--ask', ask),
    json: args.has('json'),
  };
}

function parseHealth(text: string | undefined): WorkerRequest['health'] {
  if (text === undefined) return null;
  const match = /^(?:(.+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535)
    throw new RetinueError('usage', `--health: \`${text}\` is not an address; write \`8080\`, or \`0.0.0.0:8080\` for other machines`);
  return { host: match[1]?.replace(/^\[(.*)\]$/, '$1') ?? '127.0.0.1', port };
}
