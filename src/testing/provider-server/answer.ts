// Creates the content of an answer from a step: applies defaults and the faults that concern the content rather than its transmission.
import type { Answer, ProviderRequest, ProviderStep, StepUsage } from './types.ts';

const loneSurrogate = '\ud83d';

export function createAnswer(step: ProviderStep, request: ProviderRequest): Answer {
  const hasLoneSurrogates = step.fault?.kind === 'lone-surrogate';
  const withFault = (text: string | undefined) => (hasLoneSurrogates && text ? text + loneSurrogate : (text ?? ''));
  const calls = (step.calls ?? []).map(({ tool, args = {}, raw, id, signature }, index) => ({
    id: id ?? `call_${request.n}_${index + 1}`,
    tool,
    input: raw ?? JSON.stringify(args, (_, value) => (hasLoneSurrogates && typeof value === 'string' ? value + loneSurrogate : value)),
    signature: signature ?? null,
  }));
  return {
    id: String(request.n),
    model: request.model,
    reasoning: withFault(step.reasoning),
    signature: step.signature ?? null,
    redacted: step.redacted ?? null,
    text: withFault(step.text),
    calls,
    finish: step.finish ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
    usage: createUsage(step),
    chunkSize: step.chunkSize ?? 16,
  };
}

function createUsage({ usage, fault }: ProviderStep): Required<StepUsage> | null {
  if (fault?.kind === 'no-usage') return null;
  if (fault?.kind === 'negative-usage') return { input: -7, output: -3, cached: 0, written: 0, reasoning: 0 };
  return { input: 10, output: 5, cached: 0, written: 0, reasoning: 0, ...usage };
}
