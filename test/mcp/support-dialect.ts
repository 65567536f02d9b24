// `retinue mcp --dialect X` with the official client in front and a provider on loopback behind it, whose answers the test gives and holds back.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { type ProviderRequest, type ProviderStep, startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace, type Place } from '../cli/support-process.ts';
import { environment, type Server, startServer, texts } from './support.ts';

/** By a word of the first message; one step for each turn of the run, the last one for all that follow. */
export type Answers = Record<string, ProviderStep | ProviderStep[]>;

export interface Options {
  answers?: Answers;
  /** Words whose answers come when the test lets them. */
  held?: string[];
  /** The user's own configuration. */
  config?: object;
  args?: string[];
  env?: Record<string, string>;
  /** Files of the workspace. */
  files?: Record<string, string>;
}

export interface DialectServer extends Server {
  /** What the models were sent whose first message has the word. */
  requests(word: string): ProviderRequest[];
  asked(word: string): Promise<void>;
  release(word: string): void;
  /** Another server on the same folder, with the same provider. */
  again(): Promise<Server>;
  /** What was delegated, newest first, as the facts have it; and the newest with this word in its task. */
  runs(): Promise<Delegated[]>;
  shown(word: string): Promise<Delegated>;
  /** `retinue cancel` from another process. */
  cancelled(word: string): Promise<void>;
}

export interface Delegated {
  runId: string;
  parentId: string;
  depth: number;
  brief: { task: string; tags?: string[] };
  grant: { limits: Record<string, { value: number }> };
  outcome: { status: string; terminated: string | null } | null;
}

interface LoggedFact {
  runId: string;
  type: string;
  data: Record<string, unknown>;
  activity?: object;
}

function runsIn(facts: LoggedFact[]): Delegated[] {
  const created = facts.filter(({ type, data }) => type === 'run.created' && data.kind !== 'client');
  const outcomeOf = (id: string) => facts.find(({ runId, type }) => type === 'run.ended' && runId === id)?.data.outcome ?? null;
  return created.map(({ runId, data }) => ({ runId, ...data, outcome: outcomeOf(runId) }) as Delegated).reverse();
}

export async function startDialect(dialect: string, { answers = {}, held = [], config, args = [], env = {}, files = {} }: Options = {}) {
  const gates = new Map(held.map((word) => [word, Promise.withResolvers<void>()]));
  const arrived = new Map(Object.keys(answers).map((word) => [word, Promise.withResolvers<void>()]));
  const provider = await startProviderServer({
    async answer(request) {
      const word = wordOf(request, Object.keys(answers));
      if (word === undefined) return { fault: { kind: 'status', status: 400, message: `nobody expects this: ${firstMessage(request)}` } };
      arrived.get(word)?.resolve();
      await gates.get(word)?.promise;
      const steps = [answers[word] as ProviderStep | ProviderStep[]].flat();
      return steps[Math.min(turnsIn(request), steps.length - 1)] as ProviderStep;
    },
  });
  const place = placeFor({ ...environment(provider), ...env }, { config, files });
  const options = { place, args: ['--dialect', dialect, ...args], env: { ...environment(provider), ...env } };
  const server = await startServer(options);
  // With the schemas at hand the client checks structured content against them.
  await server.client.listTools();
  const runs = async () => {
    const { out } = await place.run('logs', 'last', '--tree', '--json');
    return runsIn(JSON.parse(out));
  };
  const shown = async (word: string) => {
    const found = (await runs()).find(({ brief }) => brief.task.includes(word));
    if (!found) throw new Error(`no run has ${word} in its task`);
    return found;
  };
  return {
    ...server,
    requests: (word: string) => provider.requests.filter((request) => firstMessage(request).includes(word)),
    asked: (word: string) => (arrived.get(word) as PromiseWithResolvers<void>).promise,
    release: (word: string) => gates.get(word)?.resolve(),
    again: () => startServer(options),
    runs,
    shown,
    async cancelled(word: string) {
      const { runId } = await shown(word);
      const { code, err } = await place.run('cancel', runId);
      expect(code, err).toBe(0);
    },
    async [Symbol.asyncDispose]() {
      for (const gate of gates.values()) gate.resolve();
      await server[Symbol.asyncDispose]();
      place[Symbol.dispose]();
      await provider.close();
    },
  } satisfies DialectServer;
}

function placeFor(env: Record<string, string>, { config, files }: { config: object | undefined; files: Record<string, string> }): Place {
  const place = createPlace({ runs: [] }, env);
  if (config !== undefined) {
    const own = join(place.folder, '.config', 'retinue');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'config.json'), JSON.stringify(config));
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.folder, name), text);
  return place;
}

/** Its children, as `retinue show` has them. */
export async function childrenOf(
  place: Place,
  id: string,
): Promise<{ runId: string; agent: string; status: string; label: string | null }[]> {
  return JSON.parse((await place.run('show', id, '--json')).out).children;
}

/** The facts of a run as `retinue logs` has them. */
export async function logsOf(place: Place, id: string): Promise<LoggedFact[]> {
  return JSON.parse((await place.run('logs', id, '--json')).out);
}

interface Message {
  role: string;
  content: string | { type: string; text?: string }[];
}

export function messagesOf({ body }: ProviderRequest): Message[] {
  return body.messages as Message[];
}

export function textOf({ content }: Message): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

export function firstMessage(request: ProviderRequest): string {
  const [first] = messagesOf(request);
  return first ? textOf(first) : '';
}

export function systemOf({ body }: ProviderRequest): string {
  return JSON.stringify(body.system);
}

export function toolsOf({ body }: ProviderRequest | { body: Record<string, unknown> }): string[] {
  return ((body.tools ?? []) as { name: string }[]).map(({ name }) => name).sort();
}

function wordOf(request: ProviderRequest, words: string[]): string | undefined {
  const first = firstMessage(request);
  return words.find((word) => first.includes(word));
}

function turnsIn(request: ProviderRequest): number {
  return messagesOf(request).filter(({ role }) => role === 'assistant').length;
}

/** What a JSON dialect answered: its structured content, which is the one text block too, byte for byte. */
export function jsonOf<T = Record<string, unknown>>(result: CallToolResult): T {
  expect(texts(result)).toEqual([JSON.stringify(result.structuredContent)]);
  return result.structuredContent as T;
}

export function only(result: CallToolResult): string {
  expect(result.content).toHaveLength(1);
  expect(result.structuredContent).toBeUndefined();
  return texts(result)[0] as string;
}

export async function toolOf(client: Client, name: string) {
  const { tools } = await client.listTools();
  const found = tools.find((tool) => tool.name === name);
  if (!found) throw new Error(`there is no tool ${name}`);
  return found as typeof found & { inputSchema: { properties: Record<string, { default?: unknown }>; required: string[] } };
}

/** Living processes below this one, as pid and command line; the guard, which outlives it to see to that, left out. */
export function descendants(pid: number): { pid: number; command: string }[] {
  const all = readdirSync('/proc').flatMap((name) => {
    try {
      const stat =
        readFileSync(`/proc/${Number(name)}/stat`, 'utf8')
          .split(') ')[1]
          ?.split(' ') ?? [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return stat[0] === 'Z' ? [] : [{ pid: Number(name), parent: Number(stat[1]), command }];
    } catch {
      return [];
    }
  });
  const below = (parent: number): { pid: number; command: string }[] =>
    all.filter((each) => each.parent === parent).flatMap((each) => [{ pid: each.pid, command: each.command }, ...below(each.pid)]);
  return below(pid).filter(({ command }) => !command.includes('retinue-guard'));
}

export function alive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] !== 'Z';
  } catch {
    return false;
  }
}

export const hex16 = /^[0-9a-f]{16}$/;
