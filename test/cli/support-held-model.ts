// A model whose answers wait for the test: a provider in this process, for runs of other processes. What a test does while a model call is
// running then needs no delay that is long enough for it.
import { type ProviderRequest, type ProviderStep, startProviderServer } from '../../src/testing/provider-server.ts';

export interface HeldStep extends ProviderStep {
  /** The answer is sent after `release`. */
  held?: true;
  /** A text that the messages must contain. */
  expect?: string;
}

export interface HeldModel extends AsyncDisposable {
  /** Select the model. */
  variables: Record<string, string>;
  /** Sends the answers that are held, and holds no more. */
  release(): void;
}

/** `steps`: the answers to the run whose messages contain the key, in the order of its calls. The first key that fits counts. */
export async function startHeldModel(steps: Record<string, HeldStep[]>): Promise<HeldModel> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const answer = async ({ body }: ProviderRequest): Promise<ProviderStep> => {
    const messages = body.messages as { role: string }[];
    const text = JSON.stringify(messages);
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    const key = Object.keys(steps).find((each) => text.includes(each));
    const { held, expect, ...step } = steps[key ?? '']?.[turn] ?? { fault: { kind: 'status', status: 400, message: 'no step' } };
    if (held) await released;
    return expect === undefined || text.includes(expect) ? step : { text: `the messages have no ${JSON.stringify(expect)}: ${text}` };
  };
  const server = await startProviderServer({ answer });
  return {
    variables: { ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: server.url, RETINUE_MODEL: 'anthropic/claude-sonnet-4-5' },
    release,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
