// `retinue demo crash`: a tree of six runs in a real process is killed with kill -9 halfway and resumed by another process. The model is a
// scripted provider in this process, over real HTTP: it survives the kill and records every request. All numbers are counted from the log,
// from that record and from the lines that the tools wrote.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from 'retinue/sqlite';
import { checkInvariants, startProviderServer } from 'retinue/testing';
import { count, keyOf } from './crash/count.ts';
import { answerRequest, type ModelRequest, parseRequest, rootTask } from './crash/tree.ts';

/** The process is killed shortly after this request: some children have ended by then, others are in the middle of their work. */
const killAtRequest = 13;
const killDelayMs = 120;

export interface CrashDemoResult {
  db: string;
  runs: number;
  openAtKill: number;
  completed: number;
  model: { asked: number; answered: number; openAtKill: number; repeated: number };
  tools: { finished: number; unknown: number; repeated: number };
  facts: number;
  faults: string[];
}

/** `report` gets a line at each stage. */
export async function runCrashDemo(
  { root, env }: { root: string; env: Record<string, string | undefined> },
  report: (line: string) => void,
): Promise<CrashDemoResult> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-demo-'));
  const effects = join(folder, 'effects');
  mkdirSync(effects);
  const db = join(folder, '.retinue', 'retinue.db');
  const requests: ModelRequest[] = [];
  const halfway = Promise.withResolvers<void>();
  const server = await startProviderServer({
    answer: ({ body }) => {
      const request = parseRequest(body);
      requests.push(request);
      if (requests.length === killAtRequest) setTimeout(halfway.resolve, killDelayMs);
      return answerRequest(request);
    },
  });
  const start = (...args: string[]) => {
    const childEnv = {
      PATH: env.PATH,
      HOME: folder,
      RETINUE_MODEL: 'openai-compatible/demo',
      RETINUE_BASE_URL: server.url,
      RETINUE_API_KEY: 'none',
    };
    return spawn(process.execPath, [join(root, 'bin', 'retinue.js'), ...args], { cwd: folder, env: childEnv, stdio: 'ignore' });
  };
  const countAll = async () => {
    const store = await openSqliteStore({ path: db, readOnly: true });
    try {
      const violations = await checkInvariants(store);
      return { ...count(await store.facts({}), linesIn(effects)), violations };
    } finally {
      await store.close();
    }
  };
  try {
    const startedAt = performance.now();
    const elapsed = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    const first = start('run', '--allow', 'bash', rootTask);
    report(`process ${first.pid} runs a tree of six\n`);
    await Promise.race([halfway.promise, exited(first)]);
    first.kill('SIGKILL');
    await exited(first);
    const requestsBefore = requests.length;
    const before = await countAll();
    report(
      `killed with kill -9 after ${elapsed()}: the log has ${before.answers} model answers and ${before.tools} tool calls; ${before.open} runs are unfinished\n`,
    );
    const second = start('resume');
    report(`process ${second.pid} resumes them\n`);
    await exited(second);
    const after = await countAll();
    report(`finished after ${elapsed()}: ${after.completed} of ${after.runs} runs completed\n\n`);
    return {
      db,
      runs: after.runs,
      openAtKill: before.open,
      completed: after.completed,
      model: {
        asked: requests.length,
        answered: after.answers,
        openAtKill: requestsBefore - before.answers,
        repeated: requests.slice(requestsBefore).filter((request) => before.answered.has(keyOf(request))).length,
      },
      tools: { finished: after.tools, unknown: after.unknown, repeated: after.repeatedTools },
      facts: after.facts,
      faults: after.violations.map(({ invariant, runId, what }) => `${invariant} ${runId ?? ''}: ${what}`),
    };
  } finally {
    await server.close();
  }
}

function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

function linesIn(folder: string): Map<string, number> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8').split('\n').length - 1]));
}
