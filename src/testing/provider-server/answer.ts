// From a step to what is said: defaults, and those faults that lie in the content rather than in how it is sent.
import type { Answer, ProviderRequest, ProviderStep, StepUsage } from './types.ts';

const half = '\ud83d';

export function answerOf(step: ProviderStep, request: ProviderRequest): Answer {
  const broken = step.fault?.kind === 'lone-surrogate';
  const damaged = (text: string | undefined) => (broken && text ? text + half : (text ?? ''));
  const calls = (step.calls ?? []).map(({ tool, args = {}, raw, id, signature }, index) => ({
    id: id ?? `call_${request.n}_${index + 1}`,
    tool,
    input: raw ?? JSON.stringify(args, (_, value) => (broken && typeof value === 'string' ? value + half : value)),
    signature: signature ?? null,
  }));
  return {
    id: String(request.n),
    model: request.model,
    reasoning: damaged(step.reasoning),
    signature: step.signature ?? null,
    redacted: step.redacted ?? null,
    text: damaged(step.text),
    calls,
    finish: step.finish ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
    usage: usageOf(step),
    chunkSize: step.chunkSize ?? 16,
  };
}

function usageOf({ usage, fault }: ProviderStep): Required<StepUsage> | null {
  if (fault?.kind === 'no-usage') return null;
  if (fault?.kind === 'negative-usage') return { input: -7, output: -3, cached: 0, written: 0, reasoning: 0 };
  return { input: 10, output: 5, cached: 0, written: 0, reasoning: 0, ...usage };
}
