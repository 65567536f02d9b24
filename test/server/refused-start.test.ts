// A server that refuses to start must end, with nothing left open that keeps its process alive.
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { createPlace } from '../cli/support-process.ts';

async function occupyPort(): Promise<{ port: string; [Symbol.asyncDispose](): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: String((server.address() as { port: number }).port),
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

it.each([[['serve']], [['mcp', '--http']]])('%j exits if its port is in use or its tokens cannot be read', async (command) => {
  using place = createPlace({ runs: [] });
  await using occupied = await occupyPort();
  const inUse = await place.run(...command, '--json', '--port', occupied.port);
  expect(inUse).toMatchObject({ code: 2, out: '', err: expect.stringContaining(`port ${occupied.port} of 127.0.0.1 is in use`) });
  const noTokens = await place.run(...command, '--json', '--token-file', 'missing');
  expect(noTokens).toMatchObject({ code: 2, out: '', err: expect.stringContaining('the token file') });
});
