import type { Api } from '../../api/api.ts';
import { RetinueError } from '../../contract/error.ts';
import type { EvalInput } from '../../contract/eval.ts';
import { lowestRate, summarise } from '../../evals/compare.ts';
import { canonical } from '../../text/canonical.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { shortId } from '../../views/format.ts';
import { parseIntegerFlag } from '../args/flag-values.ts';
import type { Args, Flag } from '../args/parse-args.ts';
import { assertActionFlags } from '../args/refused-flags.ts';
import { outputMode, runSettings } from '../args/settings-flags.ts';
import { addDirFlag, budgetFlag, type Command, jsonFlag, plainFlag, sandboxFlag, writingFlags } from '../command.ts';
import type { Io } from '../io.ts';
import { formatPercent } from '../output/eval-change.ts';
import { printEvalList } from '../output/eval-list.ts';
import { formatEval } from '../output/eval-table.ts';
import { printJson } from '../output/print-json.ts';
import { assertSameFlags } from '../session/eval-flags.ts';
import {
  evalLabel,
  hasVerdict,
  isFinished,
  listEvals,
  readEval,
  readRecordedRun,
  type StoredEval,
  toEarlierEval,
  toRecord,
} from '../session/evals.ts';
import { withApi, withLocalApi } from '../session/open-api.ts';
import { runToEnd } from '../session/run-to-end.ts';

const usage = 'FILE [flags] | list | show [ID]';
const defaultConcurrency = 4;
const failUnderFlag: Flag = {
  name: 'fail-under',
  value: 'PERCENT',
  help: 'exit with 1 if an agent and model pass less than this share of their cases',
};

export const evalCommand: Command = {
  name: 'eval',
  group: 'run',
  usage,
  summary: 'run cases against agents and models, and compare with the last time',
  about:
    'FILE is JSON with cases: a task, a folder with files to begin with, and checks that decide (see docs/evals.md). Each case runs in its own copy of the files, against every --agent and --model, --repeats times. The table has pass rates, costs and times, and what is better or worse than in the last eval of the same name.\n\n' +
    'Ctrl-C pauses an eval. The same command continues it, also after a crash: finished cases are not repeated. `list` lists earlier evals, `show` shows one (default: the last).\n\n' +
    '--replay judges the runs of the last eval again with the checks of the file, without doing their work again. Tool calls that need approval are denied.',
  flags: [
    { name: 'agent', value: 'NAME', repeatable: true, help: 'run the cases with this agent (default: that of the file or the case)' },
    {
      name: 'model',
      value: 'NAME',
      repeatable: true,
      help: 'run the cases with this model, as `provider/model` (default: that of the file)',
    },
    { name: 'repeats', value: 'N', help: 'how often each case runs, 1 to 100 (default: that of the file, or 1)' },
    { name: 'concurrency', value: 'N', help: `how many cases run at the same time (default: ${defaultConcurrency})` },
    { name: 'replay', help: 'judge the recorded runs of the last eval again, without calling their models' },
    { name: 'new', help: 'begin again, even if an unfinished eval could be continued' },
    failUnderFlag,
    { name: 'allow', value: 'RULE', repeatable: true, help: 'allow tool calls, as `tool` or `tool:pattern`' },
    { name: 'deny', value: 'RULE', repeatable: true, help: 'deny tool calls; the last matching --allow or --deny decides' },
    sandboxFlag,
    addDirFlag,
    { name: 'budget-usd', value: 'USD', help: 'spending limit for the whole eval' },
    { name: 'budget-tokens', value: 'N', help: 'token limit for the whole eval' },
    budgetFlag,
    jsonFlag,
    plainFlag,
    ...writingFlags,
  ],
  positionals: { min: 1, max: 2 },
  examples: [
    ['retinue eval evals/edits.json', 'all cases, once'],
    ['retinue eval evals/edits.json --model openai/gpt-5 --model ollama/qwen3 --repeats 3', 'two models, three times each'],
    ['retinue eval evals/edits.json --replay', 'after a change of the checks: judges what was recorded'],
    ['retinue eval evals/edits.json --fail-under 90 --json', 'for CI: 1 if fewer than 90 % pass'],
    ['retinue eval show', 'the last eval, compared with the one before'],
  ],
  exitCodes: 'watch',
  changes: (args) => !isReading(args),
  run,
};

function isReading(args: Args): boolean {
  return args.positionals[0] === 'list' || args.positionals[0] === 'show';
}

async function run(args: Args, io: Io): Promise<number> {
  const [first, second] = args.positionals as [string, string | undefined];
  if (first === 'list' && second === undefined) return list(args, io);
  if (first === 'show') return show(args, io, second);
  if (first === 'list' && second !== undefined)
    throw new RetinueError('usage', `unexpected argument \`${second}\`; usage: retinue eval ${usage}`);
  if (second !== undefined) throw new RetinueError('usage', `an eval is one file; usage: retinue eval ${usage}`);
  return start(first, args, io);
}

async function start(file: string, args: Args, io: Io): Promise<number> {
  const failUnder = parsePercent(args.value('fail-under'));
  const number = (name: string, max: number) => {
    const given = args.value(name);
    return given === undefined ? undefined : parseIntegerFlag(`--${name}`, given, { min: 1, max });
  };
  const choice = {
    agents: args.values('agent'),
    models: args.values('model'),
    repeats: number('repeats', 100),
    concurrency: number('concurrency', 256) ?? defaultConcurrency,
  };
  // Models are a part of the cases; the configured one is for everything else.
  const flags = { ...runSettings(args), model: undefined };
  const isReplay = args.has('replay');
  if (isReplay && choice.agents.length + choice.models.length + (choice.repeats ?? 0) > 0)
    throw new RetinueError('usage', '--replay judges the recorded runs: --agent, --model and --repeats cannot be combined with it');
  const text = await io.readFile(file);
  // A wrong file creates no database.
  const given = await io.evals.prepare({ file, text, choice, settings: await io.settings(flags) });
  return withLocalApi(io, { flags, agents: { chosen: undefined }, drive: true, startsRuns: true }, async (api, settings) => {
    const stored = await listEvals(api, given.name);
    const last = stored.find(hasVerdict) ?? null;
    const input = isReplay ? await planReplay(given, last, api, io) : given;
    const open = args.has('new') ? null : findUnfinished(stored, input);
    if (open) {
      const rules = await io.evals.commandRules(settings);
      assertSameFlags(open, { args, limits: flags.limits, rules, concurrency: choice.concurrency });
    } else await io.evals.checkNames(api, input, settings);
    reportOthers(io, stored, open);
    let runId: string | null = null;
    const begin = async () => {
      const handle = open
        ? await resume(api, io, open)
        : await io.evals.start(api, input, {
            label: evalLabel(input.name),
            limits: flags.limits,
            trace: io.trace,
            ...(args.values('budget').length > 0 && { budgets: args.values('budget') }),
          });
      runId = handle.id;
      return handle;
    };
    const code = await runToEnd(io, api, { ...outputMode(args), start: begin, isQuiet: true, pausesOnInterrupt: true });
    const done = runId === null ? null : await readEval(api, runId);
    if (!done || !isFinished(done)) {
      if (done?.outcome === null) io.err('retinue: the same command continues the eval; finished cases are not repeated\n');
      else if (done?.outcome && !done.outcome.success)
        io.err(`retinue: the eval has no result: ${done.outcome.error?.message ?? done.outcome.status}\n`);
      return code === 0 || code === null ? 1 : code;
    }
    const exitCode = report({ io, args, done, last, failUnder });
    return hasVerdict(done) ? exitCode : reportNoVerdict(done, io);
  });
}

/** An eval that says nothing about any agent or model is no success. */
function reportNoVerdict({ results }: StoredEval, io: Io): number {
  const reason = results.find((each) => each.reason !== null)?.reason ?? 'there are no results';
  io.err(`retinue: no case could be judged: ${sanitizeLine(reason)}\n`);
  return 1;
}

function planReplay(input: EvalInput, last: StoredEval | null, api: Api, io: Io): Promise<EvalInput> {
  if (!last) throw new RetinueError('usage', `there is no finished eval \`${input.name}\` to judge again; run it without --replay first`);
  return io.evals.planReplay(input, toEarlierEval(last), (runId) => readRecordedRun(api, runId));
}

/** The same cases, agents, models and repeats, and not ended. Canonical, because what is stored has other orders of keys than a file. */
function findUnfinished(stored: StoredEval[], input: EvalInput): StoredEval | null {
  const identity = ({ concurrency: _, ...rest }: EvalInput) => canonical(rest);
  const wanted = identity(input);
  return stored.find((each) => each.outcome === null && identity(each.input) === wanted) ?? null;
}

function reportOthers(io: Io, stored: StoredEval[], open: StoredEval | null): void {
  for (const { runId, outcome } of stored) {
    if (outcome !== null || runId === open?.runId) continue;
    const id = shortId(runId);
    io.err(
      `retinue: the eval ${id} has other cases or options and is not finished; \`retinue resume ${id}\` or \`retinue cancel ${id}\`\n`,
    );
  }
}

async function resume(api: Api, io: Io, { runId, done }: StoredEval) {
  const [handle] = await api.resume(runId, { by: 'retinue eval' });
  if (!handle) throw new RetinueError('usage', `the eval ${shortId(runId)} cannot be continued; start it again with --new`);
  io.err(`retinue: continuing the eval ${shortId(runId)}: ${done} runs are done; --new begins again\n`);
  return handle;
}

interface Report {
  io: Io;
  args: Args;
  done: StoredEval;
  last: StoredEval | null;
  failUnder: number | null;
}

/** Prints the table or the JSON. The exit code says whether the wanted rate was reached. */
function report({ io, args, done, last, failUnder }: Report): number {
  const summary = summarise(toRecord(done), last && toRecord(last));
  if (args.has('json'))
    printJson(io, {
      runId: done.runId,
      name: done.input.name,
      file: done.input.file,
      createdAt: done.createdAt,
      replayOf: done.input.replay?.of ?? null,
      comparedWith: last?.runId ?? null,
      durationMs: done.outcome?.durationMs ?? null,
      ...summary,
      results: done.results,
    } as never);
  else io.out(formatEval(summary, last && `eval ${shortId(last.runId)}`, io));
  const lowest = lowestRate(summary);
  if (failUnder === null || (lowest !== null && lowest * 100 >= failUnder - 1e-9)) return 0;
  io.err(`retinue: ${lowest === null ? 'nothing was judged' : `${formatPercent(lowest)} passed`}, and --fail-under wants ${failUnder} %\n`);
  return 1;
}

async function list(args: Args, io: Io): Promise<number> {
  assertActionFlags(args, 'eval list', [jsonFlag, ...writingFlags]);
  const evals = await withApi(io, { flags: runSettings(args), drive: false }, (api) => listEvals(api));
  printEvalList(evals, args.has('json'), io);
  return 0;
}

async function show(args: Args, io: Io, given: string | undefined): Promise<number> {
  assertActionFlags(args, 'eval show', [failUnderFlag, jsonFlag, ...writingFlags]);
  return withApi(io, { flags: runSettings(args), drive: false }, async (api) => {
    const finished = (await listEvals(api)).filter(isFinished);
    const id = given === undefined ? finished[0]?.runId : await api.find(given);
    const done = finished.find(({ runId }) => runId === id);
    if (!done)
      throw new RetinueError(
        'usage',
        given === undefined
          ? 'there is no finished eval; `retinue eval FILE` runs one'
          : `${given} is not a finished eval; \`retinue eval list\` lists them`,
      );
    const before =
      finished.slice(finished.indexOf(done) + 1).find((each) => each.input.name === done.input.name && hasVerdict(each)) ?? null;
    return report({ io, args, done, last: before, failUnder: parsePercent(args.value('fail-under')) });
  });
}

function parsePercent(given: string | undefined): number | null {
  if (given === undefined) return null;
  const value = /^\d{1,3}(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
  if (value >= 0 && value <= 100) return value;
  throw new RetinueError('invalid_limit', `--fail-under: \`${given}\` is not a percentage from 0 to 100; write \`90\` or \`99.5\``);
}
