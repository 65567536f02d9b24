// The one connection to a server: opened at first need, opened again after it has died, shared by all runs of the process.
//
// L1. At most one connection is open or being opened at a time.
// L2. A call is sent at most once. If the connection dies under it, the call has failed; the next one opens a new connection.
// L3. What fails again and again is tried ever more rarely: in between, calls fail at once and say so.
// L4. After `close` nothing is opened, and nothing of the server is left when it resolves.
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import type { JsonObject } from '../../contract/json.ts';
import { maxMs } from '../../contract/limits.ts';
import type { McpServer } from '../../contract/mcp-server.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Redact } from '../../ports/secrets.ts';
import { visible } from '../text.ts';
import { httpWire } from './http-transport.ts';
import { type Listed, listTools } from './list-tools.ts';
import { type Surroundings, settle } from './resolve-target.ts';
import type { Wire } from './server-transport.ts';
import { stdioWire } from './stdio-transport.ts';

export interface LinkGround extends Surroundings {
  clock: Clock;
  redact: Redact;
  /** Variables by which a server's processes are found again when this process is gone. */
  marks?: (() => Record<string, string>) | undefined;
}

export interface Link {
  /** Rejects with an Error whose message says why it is not there. */
  list(): Promise<Listed>;
  /** What the server answered, unchecked. Rejects with an Error that the model can read. */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

interface Open {
  client: Client;
  wire: Wire;
  listed: Promise<Listed> | null;
  isOver: boolean;
}

const startMs = 10_000;
const firstPauseMs = 1000;
const longestPauseMs = 30_000;
const maxProblem = 500;
const Anything = z.looseObject({});

export function createLink(server: McpServer, ground: LinkGround): Link {
  const { clock } = ground;
  const deadlineMs = server.startupTimeout === undefined ? startMs : server.startupTimeout * 1000;
  const stop = new AbortController();
  const ends = new Set<Promise<void>>();
  let current: Promise<Open> | null = null;
  let live: Open | null = null;
  let failures = 0;
  let lastProblem = '';
  let notBefore = Number.NEGATIVE_INFINITY;

  function open(): Promise<Open> {
    if (stop.signal.aborted) return Promise.reject(new Error('it is closed'));
    if (current) return current;
    const wait = Math.ceil((notBefore - clock.monotonic()) / 1000);
    if (wait > 0) return Promise.reject(new Error(`${lastProblem} (it is not tried again for ${wait} s)`));
    const made = connect();
    current = made;
    made.catch((error: Error) => failed(error.message));
    return made;
  }

  /** The first failure after it worked is taken for an accident. */
  function failed(problem: string): void {
    current = null;
    live = null;
    failures++;
    lastProblem = problem;
    notBefore = failures < 2 ? Number.NEGATIVE_INFINITY : clock.monotonic() + Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 2));
  }

  async function connect(): Promise<Open> {
    const target = settle(server, ground);
    const [{ Client }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    const parse = (value: unknown) => types.JSONRPCMessageSchema.parse(value);
    const wire =
      target.kind === 'command' ? stdioWire({ ...target, env: { ...target.env, ...ground.marks?.() } }, parse) : await httpWire(target);
    const client = new Client({ name: 'retinue', version: '0' }, { capabilities: { roots: {} } });
    const opened: Open = { client, wire, listed: null, isOver: false };
    const root = { uri: pathToFileURL(ground.workspace).href, name: basename(ground.workspace) };
    client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [root] }));
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => {
      opened.listed = null;
    });
    client.onclose = () => over(opened, null);
    try {
      await within(deadlineMs, (signal) => client.connect(wire.transport, { signal, timeout: maxMs }), 'it did not answer');
      if (opened.isOver) throw new Error('the connection ended');
      live = opened;
      return opened;
    } catch (error) {
      const problem = problemOf(error, wire);
      over(opened, null);
      throw new Error(problem);
    }
  }

  /** Marks a connection as over and ends what is left of it. */
  function over(opened: Open, problem: string | null): void {
    if (opened.isOver) return;
    opened.isOver = true;
    if (live === opened) failed(problem ?? problemOf(null, opened.wire));
    const ending = opened.wire.end().finally(() => ends.delete(ending));
    ends.add(ending);
  }

  /** Ends with the work, the time or the link, whichever is first. */
  async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>, late: string): Promise<T> {
    const limit = new AbortController();
    const endTimer = clock.at(clock.monotonic() + ms, () => limit.abort(new Error(`${late} within ${ms / 1000} s`)));
    const signal = AbortSignal.any([limit.signal, stop.signal]);
    try {
      return await Promise.race([work(signal), rejected(signal)]);
    } finally {
      endTimer();
    }
  }

  /** What went wrong in words for people and models: no secrets, no control characters, one line. */
  function problemOf(error: unknown, wire: Wire): string {
    const given = error === null ? '' : messageOf(error);
    const words = wire.lastWords();
    const isVague = given === '' || /connection (closed|ended)/i.test(given);
    const text = [isVague && words !== null ? [] : given || 'the connection ended', words ?? []].flat().join('; ');
    const clean = visible(ground.redact(text, true)).replace(/\s+/g, ' ');
    return clean.length > maxProblem ? `${clean.slice(0, maxProblem).toWellFormed()}…` : clean;
  }

  return {
    async list() {
      const opened = await open();
      opened.listed ??= within(deadlineMs, (signal) => listTools(opened.client, signal), 'it did not list its tools').catch((error) => {
        opened.listed = null;
        const problem = problemOf(error, opened.wire);
        over(opened, problem);
        throw new Error(problem);
      });
      return opened.listed;
    },

    async call(tool, args, signal) {
      const opened = await Promise.race([open(), rejected(signal)]);
      try {
        const params = { name: tool, arguments: args };
        const result = await opened.client.request({ method: 'tools/call', params }, Anything, { signal, timeout: maxMs });
        failures = 0;
        return result;
      } catch (error) {
        if (signal.aborted) throw error;
        if (!opened.isOver && isAnswer(error)) throw new Error(`it answered with an error: ${problemOf(error, silent)}`);
        const problem = problemOf(error, opened.wire);
        over(opened, problem);
        throw new Error(`the connection ended while this call was at work, so nobody knows what became of it: ${problem}`);
      }
    },

    async close() {
      stop.abort(new Error('it is closed'));
      const opened = await current?.catch(() => null);
      if (opened) over(opened, null);
      await Promise.all(ends);
    },
  };
}

/** For errors that the server sent: what it wrote besides says nothing about them. */
const silent = { lastWords: () => null } as Wire;

/** Whether the server itself said so (a JSON-RPC error), or the way to it broke. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && error.name === 'McpError';
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${text.replace(/^MCP error -?\d+: /, '')}${cause}`;
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
