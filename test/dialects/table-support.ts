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
export const model: DialectContext = { door: 'model', agents: [{ name: 'explore', description: 'Looks\naround.' }], call: 'call' };
export const mcp: DialectContext = { ...model, door: 'mcp' };

export function tool(name: string): DialectTool {
  const found = makeDialect('native').tools.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no tool ${name}`);
  return found;
}

/** What a call asks of the kernel, its arguments checked first. */
export function request(name: string, input: unknown, context = model): DelegationRequest {
  return tool(name).toRequest(tool(name).input.parse(input), context);
}

const tokens = { input: 0, output: 0, cached: 0, reasoning: 0 };

export function live(given: Partial<RunRow> = {}): ChildReply & { ok: true } {
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

export function ended(given: Partial<Outcome> = {}): ChildReply & { ok: true } {
  const { row } = live({ label: given.label ?? null, status: given.status ?? 'completed' }).view;
  const outcome: Outcome = {
    runId: id,
    parentId: row.parentId,
    rootId: row.rootId,
    depth: 1,
    label: null,
    agent: 'explore',
    status: 'completed',
    success: true,
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

export function refused(message: string, asked: string | null = null): ChildReply {
  return { ok: false, asked, error: { code: asked === null ? 'unknown_agent' : 'unknown_run', message, retryable: false } };
}

export function result(name: string, input: unknown, reply: DelegationReply | ChildReply[], context = model): DialectResult {
  const whole: DelegationReply = Array.isArray(reply) ? { kind: 'children', children: reply } : reply;
  return tool(name).fromReply(whole, request(name, input, context), context);
}

export const task = { tasks: [{ task: 'look' }] };

/** The same for the tools of any dialect. */
export function using(name: string, config: DialectConfig = {}) {
  const dialect = makeDialect(name, config);
  const named = (wanted: string): DialectTool => dialect.tools.find((each) => each.name === wanted) as DialectTool;
  const asks = (wanted: string, input: unknown, context = model) => named(wanted).toRequest(named(wanted).input.parse(input), context);
  return {
    dialect,
    tool: named,
    request: asks,
    /** What is wrong with the input, as a path with its message; null where the schema takes it. */
    wrong(wanted: string, input: unknown): string | null {
      const parsed = named(wanted).input.safeParse(input);
      return parsed.success ? null : parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
    },
    result(wanted: string, input: unknown, reply: DelegationReply | ChildReply[], context = model): DialectResult {
      const whole: DelegationReply = Array.isArray(reply) ? { kind: 'children', children: reply } : reply;
      const given = named(wanted).fromReply(whole, asks(wanted, input, context), context);
      const { output } = named(wanted);
      if (given.structured !== undefined) {
        if (!output) throw new Error(`${wanted} has no output schema`);
        output.parse(given.structured);
        if (given.parts.length !== 1 || given.parts[0]?.text !== JSON.stringify(given.structured)) throw new Error('not one part of JSON');
      }
      return given;
    },
  };
}

export function refusedBy(code: ErrorCode, message: string, asked: string | null = null): ChildReply {
  return { ok: false, asked, error: { code, message, retryable: false } };
}

export function failedWith(code: ErrorCode, message: string, more: Partial<Outcome> = {}): ChildReply & { ok: true } {
  return ended({ status: 'failed', success: false, summary: '', error: { code, message, retryable: false }, ...more });
}
