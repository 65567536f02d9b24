// The torture test: a real process is killed with -9 at an armed crash point or at a random moment, another one resumes and is killed too, until the
// last one may finish. Then the database, the effects in files and the model server's records are compared with each other.
import { randomBytes } from 'node:crypto';
import type { StoredFact } from '../../src/contract/fact.ts';
import { crashPoints, queueCrashPoints } from '../../src/ports/crash.ts';
import { checkInvariants } from '../../src/testing/invariants.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { approvalFaults, cancelFaults, effectFaults, messageFaults, prefixFaults, questionFaults } from './check.ts';
import { flowFaults, flowFile, flowRuns, writeFlow } from './flow.ts';
import { answering, createTorturePlace, type TorturePlace } from './place.ts';
import { rootTask, startTreeModel, type TreeModel } from './tree.ts';

export interface Tortured {
  databases: number;
  kills: number;
  /** Kills by crash point; `at random` for the others. */
  at: Map<string, number>;
  unknown: number;
  ms: number;
  failed: { seed: number; faults: string[] }[];
}

const nothing: Tortured = { databases: 0, kills: 0, at: new Map(), unknown: 0, ms: 0, failed: [] };
const killsPerDatabase = 6;
/** Without a worker nothing comes to a queue. */
const reachedPoints = crashPoints.filter((point) => !queueCrashPoints.includes(point));

/** Uses one database after another, `jobs` at a time, until the number of kills is reached. */
export async function torture({ seed, kills, jobs = 2 }: { seed: number; kills: number; jobs?: number }): Promise<Tortured> {
  const begun = performance.now();
  const sum: Tortured = { ...nothing, at: new Map(), failed: [] };
  const model = await startTreeModel(createRandom(seed));
  let next = seed;
  const work = async () => {
    while (sum.kills < kills) await tortureOne(next++, model, sum);
  };
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    await model.close();
  }
  return { ...sum, ms: Math.round(performance.now() - begun) };
}

async function tortureOne(seed: number, model: TreeModel, sum: Tortured): Promise<void> {
  const random = createRandom(seed);
  const course = createCourse(random, sum, random.fork().hit(0.4));
  const { faults } = course;
  const place = createTorturePlace(model.url);
  try {
    const seen = await killAndResume(place, course);
    faults.push(...(await finish(place, course, model)), ...prefixFaults(seen, await place.facts()));
    if (random.hit(0.15)) faults.push(...(await commandFaults(place)));
  } catch (error) {
    faults.push(`the torture broke: ${error instanceof Error ? error.stack : error}`);
  }
  sum.databases++;
  if (faults.length > 0) sum.failed.push({ seed, faults: [...faults, `the database is left in ${place.folder}`] });
  else place.remove();
}

/** A flow whose first process is killed at this point, and whose second one completes it. */
export async function tortureFlowAt(point: string, model: TreeModel): Promise<{ killed: boolean; faults: string[] }> {
  const course = createCourse(createRandom(1), { ...nothing, at: new Map(), failed: [] }, true);
  const place = createTorturePlace(model.url);
  writeFlow(place.folder);
  const endAnswers = answering(place);
  const { killed } = await place.run(commandFor(course, { begun: false, host: [] }), { point });
  await endAnswers();
  const seen = [await place.facts()];
  const faults = [...(await finish(place, course, model)), ...prefixFaults(seen, await place.facts())];
  if (faults.length === 0) place.remove();
  return { killed, faults };
}

/** Resumes what has not ended, in a process that is not killed, and compares the journal with everything outside. */
async function finish(place: TorturePlace, course: Course, model: TreeModel): Promise<string[]> {
  const { name, isFlow, cancelled, messages } = course;
  const faults: string[] = [];
  if ((await place.read((store) => store.runs({ live: true }))).length > 0) {
    const endAnswers = answering(place);
    const { code, err } = await place.run(['resume', '--ask', '10m']);
    if (code !== 0) faults.push(`the last process ended with ${code}: ${err.slice(-500)}`);
    await endAnswers();
  }
  const facts = await place.facts();
  const heard = model.heard.filter((question) => question.task.startsWith(`Torture ${name}/`));
  const effects = place.effects();
  faults.push(
    ...(await endFaults(place, facts, course)),
    ...effectFaults(facts, effects),
    ...approvalFaults(facts),
    ...questionFaults(facts, heard),
    ...messageFaults(facts, messages),
    ...cancelFaults(facts, cancelled),
    ...(isFlow ? flowFaults(facts, effects, course) : []),
  );
  for (const text of course.acknowledged) faults.push(...acknowledgedFaults(text, facts));
  course.sum.unknown += facts.filter((fact) => fact.type === 'tool.finished' && fact.data.status === 'unknown').length;
  return faults;
}

function tally(sum: Tortured, armed: string | undefined): void {
  sum.kills++;
  const where = armed ? armed.replace(/:\d+$/, '') : 'at random';
  sum.at.set(where, (sum.at.get(where) ?? 0) + 1);
}

/** Another process sends an order to the tree, and may itself be killed meanwhile. */
async function steer(place: TorturePlace, course: Course, text: string): Promise<void> {
  const { random, messages, cancelled, isFlow } = course;
  await new Promise((resolve) => setTimeout(resolve, random.int(0, 500)));
  // A flow takes no messages.
  const kind = random.pick(isFlow ? (['compact', 'cancel'] as const) : (['message', 'message', 'pause', 'cancel'] as const));
  if (kind === 'compact') {
    const long = (await place.read((store) => store.runs({ live: true }))).find((row) => row.label === 'long');
    if (!long) return;
    course.hasOrderedCompaction = true;
    await command(place, course, ['message', long.runId, '--compact'], []);
    return;
  }
  if (kind === 'cancel') {
    const children = (await place.read((store) => store.runs({ live: true }))).filter((row) => row.parentId !== null);
    if (children.length === 0) return;
    const { runId } = random.pick(children);
    const { code } = await command(place, course, ['cancel', runId], ['before cancel.asked:1', 'after cancel.asked:1']);
    cancelled.set(runId, code === 0);
    return;
  }
  if (kind === 'pause') await command(place, course, ['pause', 'last'], []);
  // After a pause the message resumes the run, so the process that sends it must not be killed.
  const { code } = await command(place, course, ['message', 'last', text], [], { isSafe: kind === 'pause' });
  messages.set(text, code === 0);
}

async function command(
  place: TorturePlace,
  { random, sum }: Course,
  args: string[],
  more: string[],
  { isSafe = false } = {},
): Promise<{ code: number | null }> {
  const points = ['before order.give:1', 'after order.give:1', 'after commit:1', ...more];
  const armed = !isSafe && random.hit(0.4) ? random.pick(points) : undefined;
  const exit = await place.run(args, isSafe ? {} : { ...(armed ? { point: armed } : {}), afterMs: 10_000 });
  if (exit.killed) tally(sum, armed);
  return exit;
}

interface Course {
  random: Random;
  name: string;
  /** The root is a flow. */
  isFlow: boolean;
  sum: Tortured;
  faults: string[];
  acknowledged: string[];
  /** Messages to the root, and whether they were acknowledged. */
  messages: Map<string, boolean>;
  /** Cancelled children, and whether the cancel was acknowledged. */
  cancelled: Map<string, boolean>;
  hasOrderedCompaction: boolean;
}

function createCourse(random: Random, sum: Tortured, isFlow: boolean): Course {
  const name = randomBytes(4).toString('hex');
  return {
    random,
    name,
    isFlow,
    sum,
    faults: [],
    acknowledged: [],
    messages: new Map(),
    cancelled: new Map(),
    hasOrderedCompaction: false,
  };
}

/** A flow asks a question, so it always waits for answers. */
function commandFor(
  { name, isFlow }: Course,
  { begun, host, ask = ['--ask', '10m'] }: { begun: boolean; host: string[]; ask?: string[] },
): string[] {
  if (begun) return ['resume', '--json', ...ask];
  const start = isFlow ? ['flow', 'run', flowFile, '--input', JSON.stringify(name)] : ['run', ...host, rootTask(name)];
  return [...start, '--json', '--allow', 'bash', ...ask];
}

/** Returns the journal after each kill. */
async function killAndResume(place: TorturePlace, course: Course): Promise<StoredFact[][]> {
  const { random, isFlow, sum, faults, acknowledged } = course;
  const seen: StoredFact[][] = [];
  const host = !isFlow && random.hit(0.25) ? ['--host', 'process'] : [];
  const ask = isFlow || random.hit(0.3) ? ['--ask', '10m'] : [];
  if (isFlow) writeFlow(place.folder);
  else if (ask.length > 0) place.askAboutWrites();
  for (let attempt = 0; ; attempt++) {
    const before = seen.at(-1) ?? [];
    const begun = before.length > 0;
    const peace = attempt >= killsPerDatabase;
    const isSteered = begun && !peace && random.hit(0.35);
    const armed = random.hit(0.65)
      ? armedPoint(random, { begun, isSteered, isFlow, asks: ask.length > 0, processes: host.length > 0 })
      : undefined;
    const death = peace ? {} : { ...(armed ? { point: armed } : {}), afterMs: armed ? 20_000 : random.int(150, 1500) };
    const args = commandFor(course, { begun, host, ask });
    const companion = isSteered ? steer(place, course, `word ${attempt}`) : null;
    const endAnswers = ask.length > 0 ? answering(place) : async () => {};
    const { code, killed, out, err } = await place.run(args, death);
    await endAnswers();
    await companion;
    if (killed) tally(sum, armed);
    else if (code !== 0) faults.push(`${args[0]} ended with ${code}: ${err.slice(-500)}`);
    if (out.trim() !== '' && !killed) acknowledged.push(out);
    const facts = await place.facts();
    seen.push(facts);
    const broken = await place.read((store) => checkInvariants(store, { excuses: { ended: 'it was killed', told: 'it was killed' } }));
    faults.push(...broken.map(({ invariant, runId, what }) => `after kill ${sum.kills} (${armed}): ${invariant} ${runId} ${what}`));
    const root = facts.find((fact) => fact.type === 'run.created' && fact.data.parentId === null);
    if (root && facts.some((fact) => fact.type === 'run.ended' && fact.runId === root.runId)) return seen;
    if (attempt > killsPerDatabase + 2) {
      faults.push('it does not come to its end');
      return seen;
    }
  }
}

interface Ahead {
  begun: boolean;
  isSteered: boolean;
  isFlow: boolean;
  asks: boolean;
  processes: boolean;
}

/** Mostly a point that this process will come to; those at the end of it come to their turn less often, because a tree dies there only once. */
function armedPoint(random: Random, { begun, isSteered, isFlow, asks, processes }: Ahead): string {
  const start = begun ? /run\.resumed|claim|resume\./ : /migration|run\.created|run\.started|child\.created/;
  const usual = [start, /model/, /tool|artifact/, /child/, /commit|open|host/, processes ? /process/ : /tool/, /./];
  const ofFlow = [/step\./, /step\./, /context\./, /check\.|nudged|returned/];
  const wanted = [
    ...(isFlow ? [...ofFlow, ...ofFlow] : []),
    ...usual,
    ...(asks ? [/approval/, /approval/] : []),
    ...(begun ? [/release|checkpoint|close/] : []),
  ];
  const chosen = isSteered && random.hit(0.5) ? /message|order\.|paused|cancel/ : random.pick(wanted);
  const point = random.pick(reachedPoints.filter((name) => chosen.test(name)));
  // Of what comes from outside there is mostly one.
  const times = /message|order|paused|cancel|approval|release|checkpoint|close/.test(point) ? 1 : random.pick([1, 2, 4]);
  return `${point}:${random.int(1, times)}`;
}

async function endFaults(place: TorturePlace, facts: StoredFact[], { isFlow, cancelled }: Course): Promise<string[]> {
  const violations = await place.read((store) => checkInvariants(store));
  const faults = violations.map(({ invariant, runId, what }) => `${invariant}: ${runId} ${what}`);
  // A word that came after the root's end is a run of its own that goes on with it.
  const runs = facts.filter((fact) => fact.type === 'run.created' && fact.data.brief.continues === undefined).length;
  const expected = isFlow ? flowRuns : 5;
  if (runs !== expected) faults.push(`the tree has ${runs} runs, not ${expected}`);
  for (const fact of facts)
    if (fact.type === 'run.ended' && !fact.data.outcome.success && !cancelled.has(fact.runId))
      faults.push(`run ${fact.runId} ended ${fact.data.outcome.status}: ${fact.data.outcome.error?.message}`);
  return faults;
}

/** What a process has said on standard output is in the journal, the same. */
function acknowledgedFaults(text: string, facts: StoredFact[]): string[] {
  const said = [JSON.parse(text)].flat() as { runId: string; status: string; summary: string }[];
  return said.flatMap(({ runId, status, summary }) => {
    const end = facts.find((fact) => fact.type === 'run.ended' && fact.runId === runId);
    const same = end?.type === 'run.ended' && end.data.outcome.status === status && end.data.outcome.summary === summary;
    return same ? [] : [`the outcome of ${runId} was acknowledged and is not in the journal`];
  });
}

/** The commands say the same as the checks here. */
async function commandFaults(place: TorturePlace): Promise<string[]> {
  const results = [await place.run(['verify']), await place.run(['replay', 'last'])];
  return results.flatMap(({ code, out, err }) => (code === 0 ? [] : [`verify or replay: ${out}${err}`]));
}
