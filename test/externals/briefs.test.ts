// What a brief can ask of an external agent: checks, a follow-up, a last prompt; and what is refused with a sentence.
import { describe, expect, it } from 'vitest';
import { parseRule } from '../../src/rules/policy.ts';
import type { ProviderStep } from '../../src/testing/provider-server.ts';
import { createExternalWorld, type ExternalWorldOptions } from './support.ts';

const rulesets = [{ kind: 'owner' as const, owner: 'test', rules: ['allow *'].map(parseRule) }];
const usage = { input: 100, output: 10 };
const bash = (command: string): ProviderStep => ({ calls: [{ tool: 'Bash', args: { command } }], usage });
const say = (text: string): ProviderStep => ({ text, usage });

const createFake = (options: Partial<ExternalWorldOptions>) =>
  createExternalWorld({ script: { turns: [[{ model: {} }]] }, answer: [say('Done.')], rulesets, ...options });

describe('a brief for an external agent', () => {
  it('has its checks executed, and a failed one is the next prompt', async () => {
    const answer = [say('Done.'), bash('touch made.txt'), say('Now it is done.')];
    await using world = await createFake({ answer });
    const run = await world.runtime.start({ task: 'make it', agent: 'fake', checks: [{ command: 'test -e made.txt' }] });
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'Now it is done.', verified: true });
    const prompts = world.facts.flatMap((fact) => (fact.type === 'session.prompted' ? [fact.data.text] : []));
    expect(prompts).toHaveLength(2);
    expect(prompts[1]).toContain('$ test -e made.txt');
    expect(prompts[1]).not.toContain('interrupted');
  });

  it('fails if its checks fail in each round', async () => {
    await using world = await createFake({ answer: ({ n }) => say(`Done ${n}.`) });
    const run = await world.runtime.start({ task: 'make it', agent: 'fake', checks: [{ command: 'false' }], maxCheckRounds: 2 });
    expect(await run.outcome).toMatchObject({ status: 'failed', verified: false, error: { code: 'check_failed' } });
  });

  it('that continues another run has that conversation in its first prompt', async () => {
    await using world = await createFake({ answer: [bash('echo 17'), say('The number is 17.'), say('As I said: 17.')] });
    const first = await world.runtime.start({ task: 'find the number', agent: 'fake' });
    await first.outcome;
    const second = await world.runtime.start({ task: 'say it again', agent: 'fake', continues: first.id });
    expect(await second.outcome).toMatchObject({ status: 'completed', summary: 'As I said: 17.' });
    const prompt = world.facts.findLast((fact) => fact.type === 'session.prompted');
    const text = prompt?.type === 'session.prompted' ? prompt.data.text : '';
    for (const part of ['find the number', 'The number is 17.', 'say it again']) expect(text).toContain(part);
    expect(text.indexOf('say it again')).toBeGreaterThan(text.indexOf('The number is 17.'));
  });

  it('with a last prompt gets its summary from the answer to it', async () => {
    await using world = await createFake({ answer: [say('A long report.'), say('In short.')] });
    const run = await world.runtime.start({ task: 'report', agent: 'fake', result: { prompt: 'Sum it up in two words.' } });
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'In short.', turns: 2 });
    expect(world.facts.filter((fact) => fact.type === 'session.prompted').at(-1)?.data).toMatchObject({
      text: expect.stringContaining('Sum it up in two words.'),
    });
  });

  it('ends at a limit without a last model call, with what the agent said until then', async () => {
    const answer = ({ n }: { n: number }): ProviderStep => ({ text: `Step ${n}.`, ...bash(`echo ${n}`) });
    await using world = await createFake({ answer });
    const run = await world.runtime.start({ task: 'go on', agent: 'fake', limits: { maxTurns: 2 } });
    expect(await run.outcome).toMatchObject({
      status: 'exhausted',
      terminated: 'max_turns',
      turns: 2,
      summary: expect.stringContaining('Step 2.'),
    });
    expect(world.provider?.requests).toHaveLength(2);
  });

  it.each([
    [
      'fallback models',
      { model: ['anthropic/claude-test', 'anthropic/other'] },
      {},
      /uses one model and no fallback models.*anthropic\/other/,
    ],
    ['images', {}, { images: [{ mediaType: 'image/png' as const, data: 'iVBORw0KGgo=' }] }, /gets no images; name a file/],
  ])('is refused with %s', async (_, agent, options, message) => {
    await using world = await createFake({ agent });
    await expect(world.runtime.start({ task: 'go', agent: 'fake' }, options)).rejects.toThrow(message);
    expect(world.facts).toEqual([]);
  });

  it('may name one of the fallback models', async () => {
    await using world = await createFake({ agent: { model: ['anthropic/other', 'anthropic/claude-test'] } });
    const run = await world.runtime.start({ task: 'go', agent: 'fake', model: 'anthropic/claude-test' });
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
  });
});
