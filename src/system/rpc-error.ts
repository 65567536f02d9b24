// Errors as JSON-RPC knows them.
import { isRetinueError } from '../contract/error.ts';

export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  cancelled: -32800,
  notFound: -32002,
} as const;

export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export interface RpcErrorBody {
  code: number;
  message: string;
  data?: unknown;
}

/** `data.code` is the code of Retinue. Unknown errors are bugs, whose details belong into the log and not to the client. */
export function errorToRpc(error: unknown): RpcErrorBody {
  if (error instanceof RpcError)
    return { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) };
  if (!isRetinueError(error)) return { code: rpcCodes.internal, message: 'internal error; see the log of the agent' };
  const { code, message } = error;
  const isInput = code === 'usage' || code.startsWith('invalid_') || code.startsWith('unknown_');
  return { code: isInput ? rpcCodes.invalidParams : rpcCodes.internal, message, data: { code } };
}
