// `retinue demo crash`: a tree of six in a real process, killed with -9 in the middle, gone on with by another one. The model is a scripted provider in this
// process, over real HTTP: it outlives the kill and keeps its own record of what it was asked. Nothing that is printed is claimed; all of it is
// counted from the journal, from that record and from the lines that the tools wrote.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CrashDemo } from '../cli/io.ts';
import { openSqliteStore } from '../stores/sqlite/create.ts';
import { checkInvariants } from '../testing/invariants.ts';
import { startProviderServer } from '../testing/provider-server.ts';
import { count, keyOf } from './demo-crash/count.ts';
import { demoStep, type Question, questionOf, rootTask } from './demo-crash/tree.ts';

/** The process is killed a moment after the model was asked this often: children are at work then, and some have ended. */
const killAtQuestion = 13;
const momentMs = 120;

export async function crashDemo(place: { root: string; env: NodeJS.ProcessEnv }, say: (text: string) => void): Promise<CrashDemo> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-demo-'));
  const effects = join(folder, 'effects');
  mkdirSync(effects);
  const db = join(folder, '.retinue', 'retinue.db');
  const asked: Question[] = [];
  const middle = Promise.withResolvers<void>();
  const server = await startProviderServer({
    answer: (request) => {
      const question = questionOf(request.body);
      asked.push(question);
      if (asked.length === killAtQuestion) setTimeout(middle.resolve, momentMs);
      return demoStep(question);
    },
  });
  const start = (...args: string[]) => {
    const env = {
      PATH: place.env.PATH,
      HOME: folder,
      RETINUE_MODEL: 'openai-compatible/demo',
      RETINUE_BASE_URL: server.url,
      RETINUE_API_KEY: 'none',
    };
    return spawn(process.execPath, [join(place.root, 'bin', 'retinue.js'), ...args], { cwd: folder, env, stdio: 'ignore' });
  };
  const counted = async () => {
    const store = await openSqliteStore({ path: db });
    try {
      const violations = await checkInvariants(store);
      return { ...count(await store.facts({}), linesIn(effects)), violations };
    } finally {
      await store.close();
    }
  };
  try {
    const begun = performance.now();
    const seconds = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    const first = start('run', '--allow', 'bash', rootTask);
    say(`process ${first.pid} drives a tree of six\n`);
    await Promise.race([middle.promise, ended(first)]);
    first.kill('SIGKILL');
    await ended(first);
    const askedBefore = asked.length;
    const before = await counted();
    say(
      `killed with -9 after ${seconds()}: ${before.answers} answers and ${before.tools} tool calls are in the journal, ${before.open} runs are open\n`,
    );
    const second = start('resume');
    say(`process ${second.pid} goes on\n`);
    await ended(second);
    const after = await counted();
    say(`ended after ${seconds()}: ${after.completed} of ${after.runs} runs completed\n\n`);
    return {
      db,
      runs: after.runs,
      openAtKill: before.open,
      completed: after.completed,
      model: {
        asked: asked.length,
        answered: after.answers,
        openAtKill: askedBefore - before.answers,
        repeated: asked.slice(askedBefore).filter((question) => before.answered.has(keyOf(question))).length,
      },
      tools: { finished: after.tools, unknown: after.unknown, repeated: after.repeatedTools },
      facts: after.facts,
      faults: after.violations.map(({ invariant, runId, what }) => `${invariant} ${runId ?? ''}: ${what}`),
    };
  } finally {
    await server.close();
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

function linesIn(folder: string): Map<string, number> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8').split('\n').length - 1]));
}
