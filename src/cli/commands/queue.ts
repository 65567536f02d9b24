import type { QueueState, WorkerState } from '../../ports/queue.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatDuration, formatPlural, shortId } from '../../views/format.ts';
import { formatTable } from '../../views/style.ts';
import type { Args } from '../args/parse-args.ts';
import { commonSettings } from '../args/settings-flags.ts';
import { type Command, commonFlags, jsonFlag, serverFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withApi } from '../session/open-api.ts';
import { requireServer } from '../session/queues.ts';
import { chooseServer } from '../session/server.ts';

export const queueCommand: Command = {
  name: 'queue',
  aliases: ['queues', 'workers'],
  group: 'watch',
  usage: '[flags]',
  summary: 'show the queues of a PostgreSQL database and their workers',
  about:
    'WAITING are runs that a worker can take now, and OLDEST is how long the first of them has waited. LATER are runs that start at a later time, or that were paused until then. FAILED counts runs of the last 24 hours. Below the tables are runs that a worker had to put back, with the reason.',
  flags: [jsonFlag, ...commonFlags, ...serverFlags],
  positionals: { min: 0, max: 0 },
  examples: [
    ['retinue queue', 'queues and workers'],
    ['retinue queue --json | jq .queued', 'for a script'],
  ],
  exitCodes: 'command',
  changes: false,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const flags = commonSettings(args);
  if (chooseServer(io, flags) === null) requireServer(await io.settings(flags), 'queues are in');
  return withApi(io, { flags, drive: false }, async (api) => {
    const state = await api.queues();
    if (args.has('json')) printJson(io, state);
    else printTables(io, state.queues, state.workers);
    return 0;
  });
}

function printTables(io: Io, queues: QueueState[], workers: WorkerState[]): void {
  if (queues.length === 0) io.err('no queued runs yet; queue one with `retinue run --queue "TASK"`\n');
  else io.out(formatQueues(queues, io));
  if (workers.length === 0) io.err('no workers; start one with `retinue worker`\n');
  else io.out(`${queues.length === 0 ? '' : '\n'}${formatWorkers(workers, io)}`);
  for (const { name, problems } of queues)
    for (const { rootId, problem } of problems)
      io.err(`retinue: ${shortId(rootId)} waits in ${sanitizeLine(name)}: ${sanitizeLine(problem)}\n`);
}

function formatQueues(queues: QueueState[], io: Io): string {
  const rows = queues.map(({ name, waiting, delayed, running, oldestMs, failed }) => [
    sanitizeLine(name),
    String(waiting),
    oldestMs === null ? '' : formatDuration(oldestMs),
    String(delayed),
    String(running),
    String(failed),
  ]);
  const right = { side: 'right' as const };
  const columns = [{ title: 'QUEUE' }, ...['WAITING', 'OLDEST', 'LATER', 'RUNNING', 'FAILED'].map((title) => ({ title, ...right }))];
  return toText(columns, rows, io, (row, column) => (column === 5 && (queues[row] as QueueState).failed > 0 ? 'red' : null));
}

function formatWorkers(workers: WorkerState[], io: Io): string {
  const rows = workers.map(({ id, host, queues, trees, seenAt, alive }) => [
    sanitizeLine(id),
    sanitizeLine(host),
    alive ? 'alive' : `silent for ${formatDuration(Math.max(0, io.now() - Date.parse(seenAt)))}`,
    formatPlural(trees, 'run'),
    sanitizeLine(queues.join(', ')),
  ]);
  const columns = [{ title: 'WORKER' }, { title: 'HOST' }, { title: 'STATUS' }, { title: 'DRIVES' }, { title: 'QUEUES', flexible: true }];
  return toText(columns, rows, io, (row, column) => (column === 2 && !(workers[row] as WorkerState).alive ? 'red' : null));
}

type Style = NonNullable<Parameters<typeof formatTable>[2]['style']>;

function toText(columns: Parameters<typeof formatTable>[0], rows: string[][], io: Io, style: Style): string {
  return `${formatTable(columns, rows, { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style }).join('\n')}\n`;
}
