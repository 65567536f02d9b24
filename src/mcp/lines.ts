// The protocol's lines over a pair of streams: one JSON-RPC message each. What is no message is answered with an error and the connection
// lives on; a line without an end is the one thing that closes it, because nothing could be found behind it.
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';

export const maxLineBytes = 16 * 1024 * 1024;

export interface LineTransport extends Transport {
  /** Whether what was written has not gone out yet: then it is no time for what can be left out. */
  congested(): boolean;
  /** Resolves when every request but calls of tools has its answer. */
  answered(): Promise<void>;
}

/** `ended`: the other side is gone, or has been given up. Called once. */
export function createLineTransport(input: Readable, output: Writable, ended: () => void): LineTransport {
  let chunks: Buffer[] = [];
  let size = 0;
  let over = false;
  const open = new Set<string | number>();
  const idle: (() => void)[] = [];

  const end = () => {
    if (over) return;
    over = true;
    input.off('data', onData).off('end', onEnd).off('close', end).off('error', end);
    input.pause();
    chunks = [];
    ended();
  };

  function onEnd(): void {
    if (size > 0) onLine(Buffer.concat(chunks));
    end();
  }

  function onData(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0 && !over; at = chunk.indexOf(10, from)) {
      if (size + at - from > maxLineBytes) {
        tooLong();
        return;
      }
      const line = Buffer.concat([...chunks, chunk.subarray(from, at)]);
      chunks = [];
      size = 0;
      from = at + 1;
      onLine(line);
    }
    if (from < chunk.length) chunks.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > maxLineBytes) tooLong();
  }

  function tooLong(): void {
    refuse(null, ErrorCode.InvalidRequest, `a line is longer than ${maxLineBytes} bytes; the connection is closed`);
    end();
  }

  function onLine(bytes: Buffer): void {
    const text = bytes.toString('utf8').trim();
    if (text === '') return;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      refuse(null, ErrorCode.ParseError, `this line is not JSON: ${(error as Error).message}`);
      return;
    }
    const message = JSONRPCMessageSchema.safeParse(value);
    if (!message.success) {
      const fault = faultOf(value);
      if (fault) refuse(fault.id, fault.code, fault.message);
      return;
    }
    if ('method' in message.data) note(message.data);
    transport.onmessage?.(message.data);
  }

  function note(message: { method: string; id?: string | number; params?: Record<string, unknown> | undefined }): void {
    if (message.id !== undefined && message.method !== 'tools/call') open.add(message.id);
    // A request that was cancelled gets no answer.
    if (message.method === 'notifications/cancelled') open.delete(message.params?.requestId as string | number);
  }

  function refuse(id: string | number | null, code: number, message: string): void {
    void write({ jsonrpc: '2.0', id, error: { code, message } });
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
      input.on('data', onData).on('end', onEnd).on('close', end).on('error', end);
    },
    send(message: JSONRPCMessage) {
      const sent = write(message);
      if (!('method' in message) && 'id' in message && message.id !== undefined) open.delete(message.id);
      if (open.size === 0) for (const resolve of idle.splice(0)) resolve();
      return sent;
    },
    async close() {
      end();
      transport.onclose?.();
    },
    congested: () => output.writableNeedDrain,
    answered: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
  };
  return transport;
}

/** What is wrong with a value that is no message; null where nobody waits for an answer. */
function faultOf(value: unknown): { id: string | number | null; code: number; message: string } | null {
  const code = ErrorCode.InvalidRequest;
  if (Array.isArray(value)) return { id: null, code, message: 'batches are not part of the protocol; send one message per line' };
  const { id, method, jsonrpc } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const known = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
  if (jsonrpc !== '2.0') return { id: known, code, message: 'a message needs "jsonrpc": "2.0"' };
  if (typeof method !== 'string') return { id: known, code, message: 'a message needs a "method", or is the answer to a request' };
  if (id === undefined) return null;
  if (known === null) return { id: null, code, message: 'the "id" of a request is a string or a whole number' };
  return { id: known, code: ErrorCode.InvalidParams, message: '"params" has to be an object, or left out' };
}
