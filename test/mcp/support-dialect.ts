// Starts `retinue mcp --dialect X` with the official client and a provider on loopback. The test defines the answers and can hold them back.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { type ProviderRequest, type ProviderStep, startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace, type Place } from '../cli/support-process.ts';
import { createEnvironment, readTexts, type Server, startServer } from './support.ts';

/** Answers by a word of the run's first message: one step per turn, and the last one for all further turns. */
export type Answers = Record<string, ProviderStep | ProviderStep[]>;

export interface Options {
  answers?: Answers;
  /** Words whose answers wait for `release`. */
  held?: string[];
  /** The user's configuration file. */
  config?: object;
  args?: string[];
  env?: Record<string, string>;
  /** Files of the workspace. */
  files?: Record<string, string>;
}

export interface DialectServer extends Server {
  /** The requests of runs whose first message contains the word. */
  findRequests(word: string): ProviderRequest[];
  asked(word: string): Promise<void>;
  release(word: string): void;
  /** Starts another server in the same folder with the same provider. */
  startAgain(): Promise<Server>;
  /** The delegated runs from the facts, newest first. */
  listRuns(): Promise<DelegatedRun[]>;
  /** The newest run with the word in its task. */
  findRun(word: string): Promise<DelegatedRun>;
  /** Runs `retinue cancel` in another process. */
  cancelRun(word: string): Promise<void>;
}

export interface DelegatedRun {
  runId: string;
  parentId: string;
  depth: number;
  brief: { task: string; tags?: string[] };
  grant: { limits: Record<string, { value: number }> };
  outcome: { status: string; terminated: string | null } | null;
}

export interface LoggedFact {
  runId: string;
  type: string;
  data: Record<string, unknown>;
  activity?: object;
}

function factsToRuns(facts: LoggedFact[]): DelegatedRun[] {
  const created = facts.filter(({ type, data }) => type === 'run.created' && data.kind !== 'client');
  const outcomeOf = (id: string) => facts.find(({ runId, type }) => type === 'run.ended' && runId === id)?.data.outcome ?? null;
  return created.map(({ runId, data }) => ({ runId, ...data, outcome: outcomeOf(runId) }) as DelegatedRun).reverse();
}

export async function startDialectServer(
  dialect: string,
  { answers = {}, held = [], config, args = [], env = {}, files = {} }: Options = {},
) {
  const gates = new Map(held.map((word) => [word, Promise.withResolvers<void>()]));
  const arrived = new Map(Object.keys(answers).map((word) => [word, Promise.withResolvers<void>()]));
  const provider = await startProviderServer({
    async answer(request) {
      const word = findWord(request, Object.keys(answers));
      if (word === undefined) return { fault: { kind: 'status', status: 400, message: `unexpected request: ${getFirstMessage(request)}` } };
      arrived.get(word)?.resolve();
      await gates.get(word)?.promise;
      const steps = [answers[word] as ProviderStep | ProviderStep[]].flat();
      return steps[Math.min(countTurns(request), steps.length - 1)] as ProviderStep;
    },
  });
  const place = placeFor({ ...createEnvironment(provider), ...env }, { config, files });
  const options = { place, args: ['--dialect', dialect, ...args], env: { ...createEnvironment(provider), ...env } };
  const server = await startServer(options);
  // After listing tools, the client validates structured content against their schemas.
  await server.client.listTools();
  const listRuns = async () => {
    const { out } = await place.run('logs', await findClientRun(place), '--tree', '--json');
    return factsToRuns(JSON.parse(out));
  };
  const findRun = async (word: string) => {
    const found = (await listRuns()).find(({ brief }) => brief.task.includes(word));
    if (!found) throw new Error(`no run has ${word} in its task`);
    return found;
  };
  return {
    ...server,
    findRequests: (word: string) => provider.requests.filter((request) => getFirstMessage(request).includes(word)),
    asked: (word: string) => (arrived.get(word) as PromiseWithResolvers<void>).promise,
    release: (word: string) => gates.get(word)?.resolve(),
    startAgain: () => startServer(options),
    listRuns,
    findRun,
    async cancelRun(word: string) {
      const { runId } = await findRun(word);
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

/** The children of a run from `retinue show`. */
export async function readChildren(
  place: Place,
  id: string,
): Promise<{ runId: string; agent: string; status: string; label: string | null }[]> {
  return JSON.parse((await place.run('show', id, '--json')).out).children;
}

/** The facts of a run from `retinue logs`. */
export async function readLogs(place: Place, id: string): Promise<LoggedFact[]> {
  return JSON.parse((await place.run('logs', id, '--json')).out);
}

interface Message {
  role: string;
  content: string | { type: string; text?: string }[];
}

export function getMessages({ body }: ProviderRequest): Message[] {
  return body.messages as Message[];
}

export function getText({ content }: Message): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

export function getFirstMessage(request: ProviderRequest): string {
  const [first] = getMessages(request);
  return first ? getText(first) : '';
}

export function getSystemPrompt({ body }: ProviderRequest): string {
  return JSON.stringify(body.system);
}

export function getToolNames({ body }: ProviderRequest | { body: Record<string, unknown> }): string[] {
  return ((body.tools ?? []) as { name: string }[]).map(({ name }) => name).sort();
}

function findWord(request: ProviderRequest, words: string[]): string | undefined {
  const first = getFirstMessage(request);
  return words.find((word) => first.includes(word));
}

function countTurns(request: ProviderRequest): number {
  return getMessages(request).filter(({ role }) => role === 'assistant').length;
}

/** The structured content of a result. Checks that the only text block is the same JSON. */
export function parseStructured<T = Record<string, unknown>>(result: CallToolResult): T {
  expect(readTexts(result)).toEqual([JSON.stringify(result.structuredContent)]);
  return result.structuredContent as T;
}

export function readOnlyText(result: CallToolResult): string {
  expect(result.content).toHaveLength(1);
  expect(result.structuredContent).toBeUndefined();
  return readTexts(result)[0] as string;
}

export async function findTool(client: Client, name: string) {
  const { tools } = await client.listTools();
  const found = tools.find((tool) => tool.name === name);
  if (!found) throw new Error(`unknown tool ${name}`);
  return found as typeof found & { inputSchema: { properties: Record<string, { default?: unknown }>; required: string[] } };
}

/** The running descendants of a process, without the guard, which outlives it on purpose. */
export function listDescendants(pid: number): { pid: number; command: string }[] {
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

export function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] !== 'Z';
  } catch {
    return false;
  }
}

export const hex16 = /^[0-9a-f]{16}$/;

/** The id of the newest client: `last` is the newest run that it delegated. */
export async function findClientRun(place: Pick<Place, 'run'>): Promise<string> {
  const runs = JSON.parse((await place.run('ps', '--all', '--json')).out) as { runId: string; kind: string }[];
  return runs.find(({ kind }) => kind === 'client')?.runId ?? 'last';
}
