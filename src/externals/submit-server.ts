// An MCP server with one tool, `submit_result`, on a Unix socket. The agent starts a relay to it as a stdio server.
import { chmodSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import type { Json, JsonObject } from '../contract/json.ts';
import { submitTool } from '../contract/tool-names.ts';
import { createConnection } from '../system/rpc-connection.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';

export interface SubmitServer {
  close(): Promise<void>;
}

const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export async function startSubmitServer(
  socket: string,
  schema: JsonObject,
  submit: (value: Json) => Promise<string | null>,
): Promise<SubmitServer> {
  const open = new Set<Socket>();
  const server = createServer((stream) => {
    open.add(stream);
    stream.on('close', () => open.delete(stream)).on('error', () => {});
    createConnection(stream, stream, () => {}, 'agent').start({ request: (method, params) => answer(method, params), notify: () => {} });
  });

  async function answer(method: string, params: unknown): Promise<unknown> {
    const given = (params ?? {}) as { protocolVersion?: string; name?: string; arguments?: Json };
    if (method === 'initialize') {
      const asked = given.protocolVersion ?? '';
      const protocolVersion = versions.includes(asked) ? asked : versions[0];
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'retinue', version: '1' } };
    }
    if (method === 'ping') return {};
    if (method === 'tools/list')
      return { tools: [{ name: submitTool, description: 'Submits the result of your task.', inputSchema: schema }] };
    if (method !== 'tools/call') throw new RpcError(rpcCodes.unknownMethod, `${method} is not available`);
    if (given.name !== submitTool) throw new RpcError(rpcCodes.invalidParams, `there is no tool ${given.name}`);
    const problem = await submit(given.arguments ?? {});
    const text = problem === null ? 'accepted' : `the result does not match its schema: ${problem}; correct it and submit it again`;
    return { content: [{ type: 'text', text }], isError: problem !== null };
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  chmodSync(socket, 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const stream of open) stream.destroy();
      }),
  };
}
