// Serves one ACP client over a pair of streams. This folder is a front-end like cli/ and mcp/: it translates between the protocol and the API.
// The program's streams, arguments and configuration belong to main/.
import type { Readable, Writable } from 'node:stream';
import { createConnection } from '../system/rpc-connection.ts';
import { shortId } from '../views/format.ts';
import { type AgentOptions, createAgent } from './agent.ts';

export interface ServeOptions extends AgentOptions {
  /** Ends the service before the client does. */
  stop: AbortSignal;
  /** Called once, when the service begins to end for any reason. */
  leaving(): void;
}

/** Resolves when the client disconnects or `stop` fires, and everything is closed. Open runs are left for another process to continue. */
export async function serveStreams({ input, output }: { input: Readable; output: Writable }, options: ServeOptions): Promise<void> {
  const connection = createConnection(input, output, options.log);
  const agent = createAgent(connection, options);
  const ended = Promise.withResolvers<void>();
  connection.signal.addEventListener('abort', () => ended.resolve(), { once: true });
  options.stop.addEventListener('abort', () => ended.resolve(), { once: true });
  if (options.stop.aborted) ended.resolve();
  connection.start(agent);
  await ended.promise;
  options.leaving();
  const paused = await agent.close();
  // A client that sends everything at once and closes its input still gets its answers.
  if (!options.stop.aborted) await connection.waitUntilAnswered();
  connection.close();
  if (paused.length === 0) return;
  const which =
    paused.length === 1
      ? `1 run was paused; continue with \`retinue resume ${shortId(paused[0] as string)}\``
      : `${paused.length} runs were paused; continue with \`retinue resume\``;
  options.log(`${which}, or load the session again`);
}
