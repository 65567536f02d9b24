// The screen over a real API: real kernel, scripted model, memory store, and a clock that only the test moves, for the runs and for the screen.
import { z } from 'zod';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
import type { AnyTool, ToolResult } from '../../src/ports/tool.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { systemIds } from '../../src/system/clock.ts';
import { createHandClock, type HandClock } from '../../src/testing/hand-clock.ts';
import { createScreen, type Screen, type ScreenOptions } from '../../src/tui/screen/screen.ts';
import { anyAgent, settled, tool } from '../support/adversary.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

export interface ScreenWorld {
  api: Api;
  world: World;
  clock: HandClock;
  /** Starts a root run and lets everything happen that needs no time. */
  start(task: string, more?: object): Promise<string>;
  /** Opens a screen; all of them are closed at the end. */
  open(options?: Partial<Omit<ScreenOptions, 'api' | 'timers'>>): Promise<TestScreen>;
  /** Lets everything happen that needs no more time than this. */
  pass(ms?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TestScreen extends Screen {
  text(): string;
  /** The line with this text; empty if there is none. */
  line(text: string): string;
  /** Presses keys one after the other, each followed by everything that it causes. */
  type(...keys: string[]): Promise<void>;
  /** Moves the cursor to the run with this name. */
  select(name: string): Promise<void>;
  /** The row of the cursor. */
  selected(): string;
  /** How many frames listeners were told about. */
  frames(): number;
}

export interface ScreenWorldOptions extends Pick<WorldOptions, 'limits' | 'tools' | 'script' | 'excuses'> {
  /** Rules beside the built-in ones. */
  rules?: string[];
  /** What the tools of the test answer, by name. Those that are not here never end. */
  outputs?: Record<string, ToolAnswer>;
}

type ToolAnswer = { output: string; diff?: string } | { error: string };

export async function createScreenWorld({ rules = [], outputs = {}, tools = [], ...rest }: ScreenWorldOptions = {}): Promise<ScreenWorld> {
  const clock = createHandClock({ now: Date.parse('2026-03-01T10:00:00.000Z') });
  const own = [...standInTools(outputs), ...tools];
  const builtIn = builtInRuleset(
    ['delegate', 'delegate_wait'],
    own.map(({ name }) => name),
  );
  const world = await createWorld({
    clock,
    agents: [anyAgent],
    rulesets: [{ ...builtIn, rules: [...builtIn.rules, ...rules.map(parseRule)] }],
    ...rest,
    options: { tools: own, questions: { canAnswer: () => true } },
  });
  const catalog = createCatalog([...builtInAgents, anyAgent]);
  const api = createApi({ store: world.store, clock, ids: systemIds, catalog, dialect: native, runtime: async () => world.runtime });
  const timers = { now: clock.now, after: (ms: number, run: () => void) => clock.at(clock.monotonic() + ms, run) };
  const screens: Screen[] = [];

  async function pass(ms = 20): Promise<void> {
    await settled();
    await clock.advance(ms);
    await settled();
    await clock.advance(20);
  }

  return {
    api,
    world,
    clock,
    pass,
    async start(task, more = {}) {
      const { id, outcome } = await api.start({ task, agent: 'any', ...more });
      outcome.catch(() => {});
      await pass();
      return id;
    },
    async open(options = {}) {
      const screen = createScreen({ api, timers, attach: null, colour: false, size: { columns: 100, rows: 30 }, ...options });
      screens.push(screen);
      let frames = 0;
      screen.subscribe(() => frames++);
      await pass();
      const line = (text: string) => screen.lines().find((each) => each.includes(text)) ?? '';
      const selected = () => screen.lines().find((each) => each.startsWith('›')) ?? '';
      async function type(...keys: string[]): Promise<void> {
        for (const key of keys) {
          screen.press(key);
          await pass();
        }
      }
      async function select(name: string): Promise<void> {
        await type('g');
        for (let n = 0; n < 20 && !selected().includes(name); n++) await type('down');
        if (!selected().includes(name)) throw new Error(`no row with ${name} in\n${screen.lines().join('\n')}`);
      }
      return Object.assign(screen, { text: () => screen.lines().join('\n'), line, selected, frames: () => frames, type, select });
    },
    async [Symbol.asyncDispose]() {
      for (const screen of screens) screen.close();
      const closing = world[Symbol.asyncDispose]();
      // Runs that are still live end, some of them after a while.
      for (let n = 0; n < 20; n++) await pass(5_000);
      await closing;
    },
  };
}

const texts = { path: z.string(), pattern: z.string(), command: z.string(), content: z.string(), old: z.string(), new: z.string() };

/** Tools with the names and arguments of real ones, which answer what the test says or never end. */
function standInTools(outputs: Required<ScreenWorldOptions>['outputs']): AnyTool[] {
  return ['read', 'write', 'edit', 'glob', 'grep', 'list', 'bash'].map((name) =>
    tool(
      name,
      (_, { signal }) => {
        const answer = outputs[name];
        if (answer !== undefined) return Promise.resolve(answerToResult(answer));
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
      { input: z.looseObject(texts).partial(), subjects: (input) => [String(input.command ?? input.path ?? '')] } as Partial<AnyTool>,
    ),
  );
}

function answerToResult(answer: ToolAnswer): ToolResult {
  if ('error' in answer) return { output: answer.error, isError: true };
  const { output, diff } = answer;
  return diff === undefined ? { output } : { output, artifacts: [{ kind: 'diff', title: 'src/date.ts', value: diff, bytes: diff.length }] };
}
