// The JSON-RPC layer in this process, on streams in memory.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createConnection } from '../../src/system/rpc-connection.ts';
import { RpcError } from '../../src/system/rpc-error.ts';

interface Answer {
  id?: unknown;
  method?: string;
  result?: unknown;
  error?: { code: number };
}

function open(request: (method: string, params: unknown) => Promise<unknown> = async () => ({})) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const log: string[] = [];
  const connection = createConnection(input, output, (line) => log.push(line));
  connection.start({ request, notify() {} });
  const read = () =>
    String(output.read() ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Answer);
  return { input, output, connection, log, read };
}

const settle = () => new Promise((done) => setImmediate(done));

describe('a connection', () => {
  it('answers every request exactly once, whatever comes between', async () => {
    const noise = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constant('{"jsonrpc":"2.0"}'),
      fc.record({ jsonrpc: fc.constant('2.0'), method: fc.string(), params: fc.jsonValue() }).map((value) => JSON.stringify(value)),
      fc.record({ jsonrpc: fc.constant('2.0'), result: fc.jsonValue(), id: fc.integer() }).map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(noise, { maxLength: 20 }), fc.integer({ min: 1, max: 50 }), async (lines, size) => {
        const { input, read, connection } = open(async (method) => {
          if (method === 'fail') throw new RpcError(-32602, 'no');
          return { method };
        });
        const sent = lines.flatMap((line, i) => [
          line.replaceAll('\n', ' '),
          JSON.stringify({ jsonrpc: '2.0', id: `request-${i}`, method: i % 2 === 0 ? 'do' : 'fail' }),
        ]);
        const bytes = Buffer.from(sent.map((line) => `${line}\n`).join(''));
        for (let at = 0; at < bytes.length; at += size * 7) input.write(bytes.subarray(at, at + size * 7));
        await settle();
        const answers = read();
        for (const i of lines.keys()) expect(answers.filter(({ id }) => id === `request-${i}`)).toHaveLength(1);
        expect(connection.signal.aborted).toBe(false);
      }),
    );
  });

  it('hides the details of an unexpected error from the client and logs them', async () => {
    const { input, read, log } = open(async () => {
      throw new Error('a secret detail');
    });
    input.write('{"jsonrpc":"2.0","id":1,"method":"x"}\n');
    await settle();
    expect(read()).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'internal error; see the log of the agent' } }]);
    expect(log.join()).toContain('a secret detail');
  });

  it('ends requests of its own with an answer, an error, their signal or the connection', async () => {
    const { input, connection, read } = open();
    const { signal } = new AbortController();
    const stop = new AbortController();
    const [good, bad, malformed, given, lost] = [signal, signal, signal, stop.signal, signal].map((each) =>
      connection.call('ask', {}, each),
    );
    const ids = read().map(({ id }) => id);
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: ids[0], result: 'yes' })}\n`);
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: ids[1], error: { code: -32000, message: 'no' } })}\n`);
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: ids[2], error: 'wrong' })}\n`);
    expect(await good).toBe('yes');
    await expect(bad).rejects.toMatchObject({ code: -32000, message: 'no' });
    await expect(malformed).rejects.toMatchObject({ code: -32600 });
    stop.abort(new Error('withdrawn'));
    await expect(given).rejects.toThrow('withdrawn');
    expect(read()).toEqual([{ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: ids[3] } }]);
    input.end();
    await expect(lost).rejects.toThrow('the client has disconnected');
    await expect(connection.call('ask', {}, signal)).rejects.toThrow('the client has disconnected');
  });

  it('disconnects a client that never reads', async () => {
    const { connection, output, log } = open();
    const closed = once(output, 'close');
    const text = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 80 && !connection.signal.aborted; n++) connection.notify('session/update', { text });
    expect(connection.signal.aborted).toBe(true);
    expect(log).toEqual(['the client has not read 67108864 bytes; it is disconnected']);
    await closed;
  });
});
