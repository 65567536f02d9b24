// Answers of the handler itself, in the form of JSON-RPC.

/** What is wrong with a message. `id`: of the message; null if it has none that can be used. */
export interface RpcFault {
  id: string | number | null;
  code: number;
  message: string;
}

/** As the official transport uses them. */
export const rpcCodes = { unavailable: -32000, unknownSession: -32001, unreadable: -32700 };

export function createRpcError(status: number, code: number, message: string, headers: Record<string, string> = {}): Response {
  return createFaultResponse(status, { id: null, code, message }, headers);
}

/** The answer to a message that the official transport does not get. */
export function createFaultResponse(status: number, { id, code, message }: RpcFault, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id }, { status, headers: { 'cache-control': 'no-store', ...headers } });
}
