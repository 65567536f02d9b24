// MCP's stdio transport: one JSON-RPC message per line. An invalid message is answered with an error and the connection stays open;
// only a line longer than the limit closes it, because no later message could be found after it.
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { createLineReader } from '../system/line-reader.ts';
import { findBatchFault, findInitializeFault, negotiateVersion } from './initialize.ts';
import { createBatches } from './line-batches.ts';
import type { RpcFault } from './rpc-error.ts';

export const maxLineBytes = 16 * 1024 * 1024;

export interface LineTransport extends Transport {
  /** Whether earlier output is still buffered. Optional messages should be skipped then. */
  isCongested(): boolean;
  /** Resolves when every request except tool calls has been answered. */
  waitUntilAnswered(): Promise<void>;
}

/** Calls `onEnd` once: when the input ends or fails, or when a line is too long. */
export function createLineTransport(input: Readable, output: Writable, onEnd: () => void): LineTransport {
  const pendingRequests = new Set<string | number>();
  const batches = createBatches((answers) => void write(answers));
  let version: string | null = null;
  const idleWaiters: (() => void)[] = [];
  let hasEnded = false;
  const reader = createLineReader({ maxLineBytes, onLine: receiveLine, onOverflow });

  function end(): void {
    if (hasEnded) return;
    hasEnded = true;
    reader.stop();
    input.off('data', reader.push).off('end', onInputEnd).off('close', end).off('error', end);
    input.pause();
    onEnd();
  }

  function onInputEnd(): void {
    reader.end();
    end();
  }

  function onOverflow(): void {
    sendError(null, ErrorCode.InvalidRequest, `a line is longer than ${maxLineBytes} bytes; the connection is closed`);
    end();
  }

  function receiveLine(line: Buffer): void {
    const text = line.toString('utf8').trim();
    if (text === '') return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      sendError(null, ErrorCode.ParseError, `this line is not JSON: ${(error as Error).message}`);
      return;
    }
    if (Array.isArray(value)) receiveBatch(value);
    else receiveMessage(value);
  }

  function receiveBatch(messages: unknown[]): void {
    const fault = findBatchFault(messages, version);
    if (fault) sendError(fault.id, fault.code, fault.message);
    else batches.read(messages, () => messages.forEach(receiveMessage));
  }

  function receiveMessage(value: unknown): void {
    const message = JSONRPCMessageSchema.safeParse(value);
    const fault = message.success ? findInitializeFault(message.data) : findFault(value);
    if (fault) sendError(fault.id, fault.code, fault.message);
    if (fault || !message.success) return;
    version ??= negotiateVersion(message.data);
    if ('method' in message.data) trackRequest(message.data);
    transport.onmessage?.(message.data);
  }

  function trackRequest(message: { method: string; id?: string | number; params?: Record<string, unknown> | undefined }): void {
    if (message.id !== undefined && message.method !== 'tools/call') pendingRequests.add(message.id);
    // A cancelled request gets no answer.
    if (message.method !== 'notifications/cancelled') return;
    pendingRequests.delete(message.params?.requestId as string | number);
    batches.forget(message.params?.requestId);
  }

  function sendError(id: string | number | null, code: number, message: string): void {
    const answer = { jsonrpc: '2.0', id, error: { code, message } };
    if (!batches.add(answer)) void write(answer);
  }

  function write(message: object): Promise<void> {
    if (output.destroyed || output.writableEnded) return Promise.resolve();
    if (output.write(`${JSON.stringify(message)}\n`)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        output.off('drain', done).off('close', done).off('error', done);
        resolve();
      };
      output.on('drain', done).on('close', done).on('error', done);
    });
  }

  const transport: LineTransport = {
    async start() {
      input.on('data', reader.push).on('end', onInputEnd).on('close', end).on('error', end);
    },
    send(message: JSONRPCMessage) {
      const sent = batches.add(message) ? Promise.resolve() : write(message);
      if (!('method' in message) && 'id' in message && message.id !== undefined) pendingRequests.delete(message.id);
      if (pendingRequests.size === 0) for (const resolve of idleWaiters.splice(0)) resolve();
      return sent;
    },
    async close() {
      end();
      batches.end();
      transport.onclose?.();
    },
    isCongested: () => output.writableNeedDrain,
    waitUntilAnswered: () => (pendingRequests.size === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve))),
  };
  return transport;
}

/** Says why a value is not a valid message. Null for a notification, which gets no answer. */
function findFault(value: unknown): RpcFault | null {
  const code = ErrorCode.InvalidRequest;
  const { id, method, jsonrpc } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const validId = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
  if (jsonrpc !== '2.0') return { id: validId, code, message: 'a message needs "jsonrpc": "2.0"' };
  if (typeof method !== 'string') return { id: validId, code, message: 'a message needs a "method" unless it answers a request' };
  if (id === undefined) return null;
  if (validId === null) return { id: null, code, message: 'the "id" of a request must be a string or an integer' };
  return { id: validId, code: ErrorCode.InvalidParams, message: '"params" must be an object or be left out' };
}
