// Facts, questions and outcomes for tests of what is printed. Time stands still.
import type { Question } from '../../src/api/api.ts';
import type { FactData, FactType, StoredFact } from '../../src/contract/fact.ts';
import type { Grant } from '../../src/contract/grant.ts';
import { defaultLimits, type EffectiveLimits } from '../../src/contract/limits.ts';
import type { Outcome, OutcomeStatus } from '../../src/contract/outcome.ts';

export const rootId = '00000000000000a0';
export const childId = '00000000000000b1';
const start = Date.parse('2026-01-02T03:04:05.000Z');
const hash = 'f'.repeat(64);

export function at(ms: number): string {
  return new Date(start + ms).toISOString();
}

let seq = 0;

export function fact<T extends FactType>(type: T, data: FactData[T], options: { runId?: string; ms?: number } = {}): StoredFact {
  seq += 1;
  return {
    runId: options.runId ?? rootId,
    seq,
    at: at(options.ms ?? 0),
    v: 1,
    type,
    data,
    hash,
    position: `p${seq}`,
  } as unknown as StoredFact;
}

export const limits = Object.fromEntries(
  Object.entries(defaultLimits).map(([name, value]) => [name, { value, from: 'default' }]),
) as EffectiveLimits;

const grant: Grant = { workspace: '/w', rulesets: [], limits, notAfter: null, tools: ['read', 'grep'] };

export function created(
  options: { runId?: string; parentId?: string; label?: string; agent?: string; notices?: string[] } = {},
): StoredFact {
  const { runId = rootId, parentId = null, label, agent = 'general', notices = [] } = options;
  const brief = { task: 'look around', ...(label === undefined ? {} : { label }) };
  const data = { brief, grant, kind: 'agent' as const, parentId, rootId, depth: parentId ? 1 : 0, agent, model: 'm/x', dialect: 'native' };
  return fact('run.created', { ...data, host: 'inline', parentCall: null, notices }, { runId });
}

export function question(more: Partial<Question> = {}): Question {
  const { turn = 1, index = 0, runId = rootId } = more;
  return {
    ...{ id: `${runId}.${turn}.${index}`, runId, rootId, agent: 'general', label: null, turn, index, tool: 'bash', hash },
    ...{ arguments: { command: 'ls' }, subjects: ['ls'], decision: { action: 'ask', rule: 'ask bash', owner: 'built-in' } },
    ...{ askedAt: at(0), expiresAt: at(600_000) },
    ...more,
  };
}

export function outcome(status: OutcomeStatus = 'completed', more: Partial<Outcome> = {}): Outcome {
  const error = status === 'completed' ? null : { code: 'empty' as const, message: 'nothing came', retryable: false };
  return {
    ...{ runId: rootId, parentId: null, rootId, depth: 0, label: null, agent: 'general', status, success: status === 'completed' },
    ...{ verified: null, summary: 'It is small.', artifacts: [], error, terminated: null, truncated: null, turns: 2 },
    ...{ tokens: { input: 1000, output: 200, cached: 0, reasoning: 0 }, costUsd: 0.02 },
    ...{ startedAt: at(0), endedAt: at(3000), durationMs: 3000 },
    ...more,
  };
}
