// Runs the tools of a dialect with a parent model: real kernel, scripted models.
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { dialectToolNames } from '../../src/kernel/delegation/dialect-tools.ts';
import type { Dialect } from '../../src/ports/dialect.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryNotes, type Notes } from '../../src/stores/notes-memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { builtInTools } from '../../src/tools/index.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

/** With `countingIds` the root is 1, the first child 2. */
export const rootId = '0000000000000001';
export const createChildId = (n: number) => (n + 1).toString(16).padStart(16, '0');

export interface PlayOptions extends WorldOptions {
  /** Rules of the owner, after the built-in ones. */
  rules?: string[];
  notes?: Notes;
}

export function openWorld(
  dialect: Dialect,
  runs: object[],
  { rules = [], notes = createMemoryNotes(), options, ...given }: PlayOptions = {},
): Promise<World> {
  const owner = builtInRuleset(
    dialectToolNames(dialect),
    (given.tools ?? []).map((tool) => tool.name),
  );
  return createWorld({
    script: { model: { price: { input: 1, output: 1 } }, runs },
    rulesets: [{ ...owner, rules: [...owner.rules, ...rules.map(parseRule)] }],
    memories: notes.memories,
    ...given,
    options: {
      dialect,
      tools: [...builtInTools({ ...notes, clock: systemClock, bash: { sandbox: null } }), ...(given.tools ?? [])],
      ...options,
    },
  });
}

export interface PlayResult {
  world: World;
  outcome: Outcome;
  /** The results of the root's calls, in the order of the calls. */
  results: { status: string; output: string }[];
  stats: ReturnType<World['runtime']['stats']>;
}

/** Runs a root until its script ends. */
export async function playScript(dialect: Dialect, runs: object[], given: PlayOptions = {}, brief: object = {}): Promise<PlayResult> {
  const world = await openWorld(dialect, runs, given);
  const outcome = await (await world.runtime.start({ task: 'work', ...brief })).outcome;
  const stats = world.runtime.stats();
  await world[Symbol.asyncDispose]();
  return { world, outcome, results: selectResults(world), stats };
}

export function selectFacts<T extends FactType>(world: World, type: T, runId?: string): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type && (runId === undefined || fact.runId === runId)) as FactOf<T>[];
}

export function selectResults(world: World, runId = rootId): { status: string; output: string }[] {
  return selectFacts(world, 'tool.finished', runId)
    .toSorted((a, b) => a.data.turn - b.data.turn || a.data.index - b.data.index)
    .map(({ data: { status, output } }) => ({ status, output }));
}

/** Parses the JSON of a result, without the fence around a child's text. */
export function parseResult<T = Record<string, unknown>>(result: { output: string } | undefined): T {
  const text = (result?.output ?? '').replace(/^<run-output run="[0-9a-f,]+">\n/, '').replace(/\n<\/run-output>$/, '');
  return JSON.parse(text) as T;
}

export const createCall = (tool: string, args: object = {}) => ({ tool, args });
export const createCalls = (...made: ReturnType<typeof createCall>[]) => ({ calls: made });
