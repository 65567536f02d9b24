import type { ErrorCode } from '../../src/contract/error.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import type { RunRow } from '../../src/contract/run.ts';
import { type DialectConfig, makeDialect } from '../../src/dialects/index.ts';
import type {
  ChildReply,
  DelegationReply,
  DelegationRequest,
  DialectContext,
  DialectResult,
  DialectTool,
} from '../../src/ports/dialect.ts';

export const id = '7f3a91c0d2e4b586';
export const modelContext: DialectContext = { door: 'model', agents: [{ name: 'explore', description: 'Looks\naround.' }], call: 'call' };
export const mcpContext: DialectContext = { ...modelContext, door: 'mcp' };

export function getNativeTool(name: string): DialectTool {
  const found = makeDialect('native').tools.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no tool ${name}`);
  return found;
}

/** The request of a call, after its arguments are checked. */
export function makeRequest(name: string, input: unknown, context = modelContext): DelegationRequest {
  return getNativeTool(name).toRequest(getNativeTool(name).input.parse(input), context);
}

const tokens = { input: 0, output: 0, cached: 0, reasoning: 0 };

export function createLiveChild(given: Partial<RunRow> = {}): ChildReply & { ok: true } {
  const at = '2026-01-01T00:00:00.000Z';
  const ids = { runId: id, parentId: '00000000000000aa', rootId: '00000000000000aa', depth: 1, kind: 'agent' as const };
  const row: RunRow = {
    ...ids,
    label: null,
    agent: 'explore',
    model: 'script/x',
    status: 'running',
    activity: null,
    turns: 3,
    tokens,
    costUsd: 0.012,
    createdAt: at,
    startedAt: at,
    endedAt: null,
    idempotencyKey: null,
    lastSeq: 1,
    lastHash: '',
    ...given,
  };
  return { ok: true, view: { row, outcome: null } };
}

export function createEndedChild(given: Partial<Outcome> = {}): ChildReply & { ok: true } {
  const { row } = createLiveChild({ label: given.label ?? null, status: given.status ?? 'completed' }).view;
  const outcome: Outcome = {
    runId: id,
    parentId: row.parentId,
    rootId: row.rootId,
    depth: 1,
    label: null,
    agent: 'explore',
    status: 'completed',
    success: true,
    verified: null,
    summary: 'done it',
    artifacts: [],
    error: null,
    terminated: null,
    truncated: null,
    turns: 12,
    tokens,
    costUsd: 0.08,
    startedAt: row.startedAt,
    endedAt: row.createdAt,
    durationMs: 5,
    ...given,
  };
  return { ok: true, view: { row, outcome } };
}

export function createRefusedChild(message: string, asked: string | null = null): ChildReply {
  return { ok: false, asked, error: { code: asked === null ? 'unknown_agent' : 'unknown_run', message, retryable: false } };
}

export function makeResult(name: string, input: unknown, reply: DelegationReply | ChildReply[], context = modelContext): DialectResult {
  const whole: DelegationReply = Array.isArray(reply) ? { kind: 'children', children: reply } : reply;
  return getNativeTool(name).fromReply(whole, makeRequest(name, input, context), context);
}

export const task = { tasks: [{ task: 'look' }] };

/** Requests and results of the tools of any dialect. */
export function loadDialect(name: string, config: DialectConfig = {}) {
  const dialect = makeDialect(name, config);
  const getTool = (wanted: string): DialectTool => dialect.tools.find((each) => each.name === wanted) as DialectTool;
  const createRequest = (wanted: string, input: unknown, context = modelContext) =>
    getTool(wanted).toRequest(getTool(wanted).input.parse(input), context);
  return {
    dialect,
    tool: getTool,
    request: createRequest,
    /** The problems of the input as paths with messages; null if it is valid. */
    findProblems(wanted: string, input: unknown): string | null {
      const parsed = getTool(wanted).input.safeParse(input);
      return parsed.success ? null : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
    },
    result(wanted: string, input: unknown, reply: DelegationReply | ChildReply[], context = modelContext): DialectResult {
      const whole: DelegationReply = Array.isArray(reply) ? { kind: 'children', children: reply } : reply;
      const given = getTool(wanted).fromReply(whole, createRequest(wanted, input, context), context);
      const { output } = getTool(wanted);
      if (given.structured !== undefined) {
        if (!output) throw new Error(`${wanted} has no output schema`);
        output.parse(given.structured);
        if (given.besideText) return given;
        if (given.parts.length !== 1 || given.parts[0]?.text !== JSON.stringify(given.structured)) throw new Error('not one part of JSON');
      }
      return given;
    },
  };
}

export function createRefusal(code: ErrorCode, message: string, asked: string | null = null): ChildReply {
  return { ok: false, asked, error: { code, message, retryable: false } };
}

export function createFailedChild(code: ErrorCode, message: string, more: Partial<Outcome> = {}): ChildReply & { ok: true } {
  return createEndedChild({ status: 'failed', success: false, summary: '', error: { code, message, retryable: false }, ...more });
}
