// The tools of a dialect through the door of a parent model: real kernel, scripted models.
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { dialectToolNames } from '../../src/kernel/dialect-tools.ts';
import type { Dialect } from '../../src/ports/dialect.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryNotes, type Notes } from '../../src/stores/notes-memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { builtInTools } from '../../src/tools/index.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

/** With `countingIds` the root is 1, the first child 2. */
export const rootId = '0000000000000001';
export const childId = (n: number) => (n + 1).toString(16).padStart(16, '0');

export interface DoorOptions extends WorldOptions {
  /** Rules of the owner behind the built-in ones. */
  rules?: string[];
  notes?: Notes;
}

export function openWorld(
  dialect: Dialect,
  runs: object[],
  { rules = [], notes = createMemoryNotes(), options, ...given }: DoorOptions = {},
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

export interface Played {
  world: World;
  outcome: Outcome;
  /** Results of the root's calls, in call order. */
  results: { status: string; output: string }[];
  stats: ReturnType<World['runtime']['stats']>;
}

/** A root that plays its script to the end. */
export async function play(dialect: Dialect, runs: object[], given: DoorOptions = {}, brief: object = {}): Promise<Played> {
  const world = await openWorld(dialect, runs, given);
  const outcome = await (await world.runtime.start({ task: 'work', ...brief })).outcome;
  const stats = world.runtime.stats();
  await world[Symbol.asyncDispose]();
  return { world, outcome, results: resultsOf(world), stats };
}

export function factsOf<T extends FactType>(world: World, type: T, runId?: string): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type && (runId === undefined || fact.runId === runId)) as FactOf<T>[];
}

export function resultsOf(world: World, runId = rootId): { status: string; output: string }[] {
  return factsOf(world, 'tool.finished', runId)
    .toSorted((a, b) => a.data.turn - b.data.turn || a.data.index - b.data.index)
    .map(({ data: { status, output } }) => ({ status, output }));
}

/** The JSON of a result, out of the fence where a child's text is in it. */
export function jsonOf<T = Record<string, unknown>>(result: { output: string } | undefined): T {
  const text = (result?.output ?? '').replace(/^<run-output run="[0-9a-f,]+">\n/, '').replace(/\n<\/run-output>$/, '');
  return JSON.parse(text) as T;
}

export const call = (tool: string, args: object = {}) => ({ tool, args });
export const calls = (...made: ReturnType<typeof call>[]) => ({ calls: made });
