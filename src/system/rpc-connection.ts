// JSON-RPC over a pair of streams, one message per line, in both directions.
//
//  1. Every request gets exactly one answer. A line that is no message gets an error without an id; the connection stays open.
//  2. Handlers start in the order of the messages. What they do before their first `await` happens in that order, too.
//  3. A request of ours ends with the client's answer, with its signal (the client is told), or with the connection.
//  4. A client that does not read is disconnected when too much output waits for it.
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { isRetinueError } from '../contract/error.ts';
import { createLineReader } from './line-reader.ts';
import { errorToRpc, RpcError, type RpcErrorBody, rpcCodes } from './rpc-error.ts';

export const maxLineBytes = 16 * 1024 * 1024;
const maxWaitingBytes = 64 * 1024 * 1024;

type Id = string | number | null;

export interface Handlers {
  /** `signal` fires when the client gives the request up. */
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>;
  notify(method: string, params: unknown): void;
}

export interface Connection {
  notify(method: string, params: unknown): void;
  /** Rejects with an RpcError if the client answers with one, and with the reason of the signal or of the end otherwise. */
  call(method: string, params: unknown, signal: AbortSignal): Promise<unknown>;
  /** Whether earlier output is still buffered. What can wait should wait then. */
  isCongested(): boolean;
  /** Resolves when nothing is buffered, or when the client has gone. */
  waitUntilWritten(): Promise<void>;
  /** Resolves when all requests of the client have been answered. */
  waitUntilAnswered(): Promise<void>;
  /** Fires when the client has gone. */
  signal: AbortSignal;
  start(handlers: Handlers): void;
  close(): void;
}

const Message = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown()), z.null()]).optional(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
type Message = z.infer<typeof Message>;
const CancelRequest = z.object({ requestId: z.union([z.string(), z.int(), z.null()]) });

/** `peer`: the other side, as messages call it. */
export function createConnection(input: Readable, output: Writable, log: (line: string) => void, peer = 'client'): Connection {
  const ended = new AbortController();
  const own = new Map<Id, PromiseWithResolvers<unknown>>();
  const open = new Map<Id, AbortController>();
  const idle: (() => void)[] = [];
  let handlers: Handlers;
  let nextId = 1;
  const reader = createLineReader({ maxLineBytes, onLine: receiveLine, onOverflow, skipsLongLines: true });

  function end(): void {
    if (ended.signal.aborted) return;
    reader.stop();
    input.off('data', reader.push).off('end', onInputEnd).off('close', end).off('error', end);
    input.pause();
    ended.abort(new Error(`the ${peer} has disconnected`));
    for (const waiting of own.values()) waiting.reject(ended.signal.reason);
    own.clear();
  }

  function onInputEnd(): void {
    reader.end();
    end();
  }

  function onOverflow(): void {
    sendError(null, { code: rpcCodes.invalidRequest, message: `a line is longer than ${maxLineBytes} bytes; it was dropped` });
  }

  function receiveLine(line: Buffer): void {
    const text = line.toString('utf8').trim();
    if (text === '') return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      sendError(null, { code: rpcCodes.parse, message: `this line is not JSON: ${(error as Error).message.slice(0, 200)}` });
      return;
    }
    const parsed = Message.safeParse(value);
    const fault = findFault(value, parsed.success);
    if (fault !== null) refuse(value, fault);
    else receive(parsed.data as Message);
  }

  /** An answer is never answered: a malformed one counts as an error. */
  function refuse(value: unknown, fault: string): void {
    const id = findId(value);
    const waiting = own.get(id);
    own.delete(id);
    if (waiting) waiting.reject(new RpcError(rpcCodes.invalidRequest, fault));
    else sendError(id, { code: rpcCodes.invalidRequest, message: fault });
  }

  function receive(message: Message): void {
    const { id, method, params } = message;
    if (method === undefined) receiveAnswer(message);
    else if (id === undefined) receiveNotification(method, params);
    else receiveRequest(id, method, params);
  }

  function receiveRequest(id: Id, method: string, params: unknown): void {
    if (open.has(id)) {
      sendError(id, { code: rpcCodes.invalidRequest, message: `a request with the id ${JSON.stringify(id)} is open already` });
      return;
    }
    const given = new AbortController();
    open.set(id, given);
    handlers.request(method, params ?? {}, given.signal).then(
      (result) => answer(id, { result: result ?? {} }),
      (error: unknown) => {
        if (!(error instanceof RpcError) && !isRetinueError(error)) log(`${method} failed: ${(error as Error)?.stack ?? String(error)}`);
        answer(id, { error: errorToRpc(error) });
      },
    );
  }

  function receiveAnswer({ id, result, error }: Message): void {
    const waiting = own.get(id ?? null);
    own.delete(id ?? null);
    if (error) waiting?.reject(new RpcError(error.code, error.message));
    else waiting?.resolve(result);
  }

  function receiveNotification(method: string, params: unknown): void {
    if (method !== '$/cancel_request') {
      handlers.notify(method, params ?? {});
      return;
    }
    const cancelled = CancelRequest.safeParse(params);
    if (cancelled.success) open.get(cancelled.data.requestId)?.abort();
  }

  function answer(id: Id, body: { result: unknown } | { error: RpcErrorBody }): void {
    open.delete(id);
    write({ id, ...body });
    if (open.size === 0) for (const resolve of idle.splice(0)) resolve();
  }

  function sendError(id: Id, error: RpcErrorBody): void {
    write({ id, error });
  }

  function write(message: object): void {
    if (output.destroyed || output.writableEnded) return;
    output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    if (output.writableLength <= maxWaitingBytes || ended.signal.aborted) return;
    log(`the ${peer} has not read ${maxWaitingBytes} bytes; it is disconnected`);
    output.destroy();
    end();
  }

  return {
    signal: ended.signal,
    start(given) {
      handlers = given;
      input.on('data', reader.push).on('end', onInputEnd).on('close', end).on('error', end);
      output.on('error', end).on('close', end);
    },
    notify: (method, params) => write({ method, params }),
    async call(method, params, signal) {
      ended.signal.throwIfAborted();
      signal.throwIfAborted();
      const id = `retinue-${nextId++}`;
      const waiting = Promise.withResolvers<unknown>();
      own.set(id, waiting);
      const onAbort = () => {
        if (!own.delete(id)) return;
        write({ method: '$/cancel_request', params: { requestId: id } });
        waiting.reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      write({ id, method, params });
      try {
        return await waiting.promise;
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    isCongested: () => output.writableNeedDrain,
    async waitUntilWritten() {
      if (!output.writableNeedDrain || ended.signal.aborted) return;
      const written = Promise.withResolvers<void>();
      const done = () => written.resolve();
      output.on('drain', done);
      ended.signal.addEventListener('abort', done);
      await written.promise;
      output.off('drain', done);
      ended.signal.removeEventListener('abort', done);
    },
    waitUntilAnswered: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
    close: end,
  };
}

/** Why a value is no message; null if it is one. */
function findFault(value: unknown, isMessage: boolean): string | null {
  if (Array.isArray(value)) return 'batches are not supported; send one message per line';
  const { id, method, jsonrpc, result, error } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (jsonrpc !== '2.0') return 'a message needs "jsonrpc": "2.0"';
  if (method === undefined && result === undefined && error === undefined) return 'a message needs a "method" unless it answers a request';
  if (method !== undefined && typeof method !== 'string') return 'the "method" must be a string';
  if (id !== undefined && findId(value) === null && id !== null) return 'the "id" of a request must be a string or a number';
  return isMessage ? null : method === undefined ? 'this is not an answer' : '"params" must be an object or be left out';
}

function findId(value: unknown): Id {
  const id = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
