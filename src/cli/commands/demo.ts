import type { Api, RunHandle } from '../../api/api.ts';
import type { SettingsFlags } from '../../config/settings.ts';
import { RetinueError } from '../../contract/error.ts';
import { formatDuration, quoteForShell } from '../../views/format.ts';
import type { Args } from '../args/parse-args.ts';
import { defaultQuestionMs, outputMode } from '../args/settings-flags.ts';
import { type Command, jsonFlag, plainFlag } from '../command.ts';
import type { Demo, Io } from '../io.ts';
import { printJson } from '../output/print-json.ts';
import { withLocalApi } from '../session/open-api.ts';
import { runToEnd } from '../session/run-to-end.ts';
import { runLongDemo } from './demo-long.ts';
import { runMergeDemo } from './demo-merge.ts';
import { runRightsDemo } from './demo-rights.ts';
import { describeServer, localRequest, serveUntilStopped } from './serve.ts';

export const demoCommand: Command = {
  name: 'demo',
  group: 'run',
  usage: '[NAME] [flags]',
  summary: 'watch agents work on this folder, without an API key or network',
  about:
    'NAME is one of:\n' +
    '  survey   (default) one child per part of this folder, and a report\n' +
    '  fan-out  a scripted model delegates to four children over the files of Retinue\n' +
    '  crash    six runs are killed with kill -9 and resumed; counts repeated calls\n' +
    '  cluster  two workers on PostgreSQL: one is killed with kill -9, the other one continues\n' +
    '  merge    three writers with their own copies of a file; two fit together, the third is a conflict\n' +
    '  long     one run of 500 turns on a model with a window of 16k tokens\n' +
    '  hostile  a child obeys a file that tells it to steal a key; shows each refusal\n' +
    '  runaway  a child tries to start 500 others; shows how the limits stop it',
  flags: [
    { name: 'serve', help: 'survey, fan-out: start the dashboard, print a link to it, and show the demo there' },
    jsonFlag,
    plainFlag,
  ],
  positionals: { min: 0, max: 1 },
  examples: [
    ['retinue demo', 'a live view of the survey, then its report'],
    ['retinue demo --serve', 'the same in a browser: prints a link'],
    ['retinue demo crash', 'how many model and tool calls a kill -9 repeats: 0'],
    ['retinue demo cluster', 'a tree that outlives its worker; starts a PostgreSQL server of its own'],
    ['retinue demo merge', 'the diffs of three writers, and what can be merged'],
    ['retinue demo long', 'what a run still knows after ten compactions'],
    ['retinue demo hostile', 'each refused attempt, with the reason'],
    ['retinue demo runaway', 'how limits stop 500 requested runs'],
  ],
  exitCodes: 'outcome',
  changes: true,
  run,
};

async function run(args: Args, io: Io): Promise<number> {
  const mode = outputMode(args);
  const name = args.positionals[0] ?? 'survey';
  if (args.has('serve')) return serveDemo(name, args.has('json'), io);
  if (name === 'crash') return runCrashDemo(io, mode.json);
  if (name === 'cluster') return runClusterDemo(io, mode.json);
  if (name === 'merge') return runMergeDemo(io, mode.json);
  if (name === 'long') return runLongDemo(io, mode.json);
  if (name === 'hostile' || name === 'runaway') return runRightsDemo(name, io, mode.json);
  const demo = await io.demo(name);
  return withLocalApi(io, { flags: demoFlags(demo), drive: true, agents: { chosen: undefined } }, async (api, settings) => {
    io.err(`retinue: ${demo.about}\n`);
    const start = () => startDemo(demo, api);
    const code = await runToEnd(io, api, { ...mode, start });
    io.err(await nextSteps(demo, settings.db.shown));
    return code ?? 0;
  });
}

function demoFlags({ workspace, model, db }: Demo): SettingsFlags {
  return { workspace, model, db: db ?? undefined, limits: {}, rules: [] };
}

function startDemo({ task, model }: Demo, api: Api): Promise<RunHandle> {
  return api.start({ task, agent: 'general', model });
}

/** The run starts when a browser can see it. The server stays until Ctrl-C, so that its runs can be looked at. */
async function serveDemo(name: string, json: boolean, io: Io): Promise<number> {
  if (['crash', 'cluster', 'merge', 'hostile', 'runaway', 'long'].includes(name))
    throw new RetinueError('usage', `the demo ${name} prints a report and has nothing to serve; use \`retinue demo ${name}\``);
  const demo = await io.demo(name, { slow: true });
  const session = { flags: demoFlags(demo), drive: true, startsRuns: true, agents: { chosen: undefined }, askMs: defaultQuestionMs };
  return withLocalApi(io, session, (api, settings) =>
    serveUntilStopped(io, { api, settings, request: localRequest }, async (server) => {
      if (json) io.out(`${JSON.stringify({ url: server.url, token: server.token, link: server.link })}\n`);
      else io.out(describeServer(server, settings));
      io.err(`retinue: ${demo.about}\n`);
      (await startDemo(demo, api)).outcome.catch(() => {});
    }),
  );
}

/** Exit code 0 if no call was repeated, the log is complete and every run ended. */
async function runCrashDemo(io: Io, json: boolean): Promise<number> {
  io.err('retinue: a tree of six runs on a scripted model is killed with kill -9; processes, database, tools and the kill are real\n');
  const found = await io.crashDemo((text) => io.err(`retinue: ${text}`));
  const { model, tools, faults, facts, runs, completed, openAtKill } = found;
  if (json) printJson(io, found);
  else
    io.out(
      [
        `model calls  ${model.answered} answered, ${model.repeated} repeated (requested ${model.asked} times: ${model.openAtKill} were unanswered when the process was killed)`,
        `tool calls   ${tools.finished} finished, ${tools.repeated} repeated (${tools.unknown} cut off; the model is told that their result is unknown)`,
        `event log    ${facts} events, verified and replayed, ${faults.length} errors`,
        ...faults.map((fault) => `  ${fault}`),
        '',
      ].join('\n'),
    );
  io.err(`\nSee every event: retinue logs last --tree --db ${quoteForShell(found.db)}\n`);
  const isComplete = openAtKill > 0 && completed === runs;
  return isComplete && model.repeated + tools.repeated + faults.length === 0 ? 0 : 1;
}

/** The same for the tree of a killed worker. */
async function runClusterDemo(io: Io, json: boolean): Promise<number> {
  io.err('retinue: a tree of six runs on a scripted model loses its worker; PostgreSQL, workers, tools and the kill are real\n');
  const found = await io.clusterDemo((text) => io.err(`retinue: ${text}`));
  const { model, tools, faults, facts, runs, completed, openAtKill, workers, takeoverMs } = found;
  if (json) printJson(io, found);
  else
    io.out(
      [
        `workers      ${workers.join(', then ')}; taken over after ${formatDuration(takeoverMs)}`,
        `model calls  ${model.answered} answered, ${model.repeated} repeated`,
        `tool calls   ${tools.finished} finished, ${tools.repeated} repeated (${tools.unknown} cut off; the model is told that their result is unknown)`,
        `event log    ${facts} events, ${faults.length} errors`,
        ...faults.map((fault) => `  ${fault}`),
        '',
      ].join('\n'),
    );
  io.err('\nStart your own workers: docs/cluster.md\n');
  const isComplete = openAtKill > 0 && completed === runs && new Set(workers).size === 2;
  return isComplete && model.repeated + tools.repeated + faults.length === 0 ? 0 : 1;
}

async function nextSteps(demo: Demo, db: string): Promise<string> {
  const { here, next } = await demo.inspectMachine();
  const dbFlag = demo.db === null ? '' : ` --db ${quoteForShell(demo.db)}`;
  const looks = ['ps --all', 'logs last --tree', 'show last'].map((command) => `  ${demo.program} ${command}${dbFlag}`);
  const found = here.length === 0 ? ['  no API key in the environment, and no Ollama server'] : here.map((line) => `  ${line}`);
  const command = next ?? `ANTHROPIC_API_KEY=… ${demo.program} run --model anthropic/claude-sonnet-5 "explain this repository"`;
  return [
    '',
    `Everything that happened is recorded in ${db}. To look at it:`,
    ...looks,
    '',
    'Models found on this machine:',
    ...found,
    '',
    'To use a language model:',
    `  ${command}`,
    '',
  ].join('\n');
}
