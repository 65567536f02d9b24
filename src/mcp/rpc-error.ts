// Answers of the handler itself, in the form of JSON-RPC.

/** As the official transport uses them. */
export const rpcCodes = { unavailable: -32000, unknownSession: -32001, unreadable: -32700 };

export function createRpcError(status: number, code: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code, message }, id: null },
    { status, headers: { 'cache-control': 'no-store', ...headers } },
  );
}
