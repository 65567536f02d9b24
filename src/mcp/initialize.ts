// The first request of a session: what is wrong with it, and which version of the protocol it brings. Batches exist in one version only.
import {
  ErrorCode,
  InitializeRequestSchema,
  LATEST_PROTOCOL_VERSION,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import { describeArgumentProblems } from '../conversation/argument-problems.ts';
import type { RpcFault } from './rpc-error.ts';

/** Null for a valid `initialize` and for every other message. */
export function findInitializeFault(message: unknown): RpcFault | null {
  if (!isInitialize(message)) return null;
  const parsed = InitializeRequestSchema.safeParse(message);
  if (parsed.success) return null;
  const problems = describeArgumentProblems(parsed.error as z.ZodError, InitializeRequestSchema as unknown as z.ZodType, message);
  return { id: getId(message), code: ErrorCode.InvalidParams, message: problems };
}

/** The version that a session has after this message, which the official server chooses in the same way. Null for every message but `initialize`. */
export function negotiateVersion(message: unknown): string | null {
  if (!isInitialize(message)) return null;
  const asked = (message as { params?: { protocolVersion?: unknown } }).params?.protocolVersion;
  return SUPPORTED_PROTOCOL_VERSIONS.find((version) => version === asked) ?? LATEST_PROTOCOL_VERSION;
}

/** As in the official transport for HTTP. */
const maxBatch = 100;

/** Why a batch is refused as a whole. Null if its messages can be read one by one. `version`: of the session; null before `initialize`. */
export function findBatchFault(batch: readonly unknown[], version: string | null): RpcFault | null {
  const refuse = (message: string): RpcFault => ({ id: null, code: ErrorCode.InvalidRequest, message });
  if (version !== '2025-03-26') return refuse('batches exist only in protocol version 2025-03-26; send one message at a time');
  if (batch.length === 0) return refuse('a batch has at least one message');
  if (batch.length > maxBatch) return refuse(`batches have at most ${maxBatch} messages`);
  if (batch.some(isInitialize)) return refuse('`initialize` cannot be part of batches');
  return null;
}

function isInitialize(message: unknown): boolean {
  return (message as { method?: unknown } | null)?.method === 'initialize';
}

function getId(message: unknown): string | number | null {
  const id = (message as { id?: unknown }).id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
