// Errors of the library speak of its options and of fields of the brief, not of flags of the command line.

import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { createRetinue, type Retinue } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';

const model = scriptedModel({ runs: [{ times: 'any', steps: [{ hang: 'start' }] }] });
const unpriced = new MockLanguageModelV4({ provider: 'mock', modelId: 'unknown' });

const refused: [string, RegExp, (retinue: Retinue) => Promise<unknown>][] = [
  ['no task', /^task: is missing; it must be text$/, (retinue) => retinue.delegate({} as never)],
  ['a misspelt key', /^the brief has an unknown key `tsk`; did you mean `task`\?$/, (retinue) => retinue.delegate({ tsk: 'x' } as never)],
  ['a value of another type', /^files\.0: must be text$/, (retinue) => retinue.delegate({ task: 'x', files: [7] as never })],
  [
    'a number out of range',
    /^limits\.maxTurns: must be at least 1$/,
    (retinue) => retinue.delegate({ task: 'x', limits: { maxTurns: 0 } }),
  ],
  [
    'a text that is too long',
    /^label: must have at most 200 characters$/,
    (retinue) => retinue.delegate({ task: 'x', label: 'x'.repeat(201) }),
  ],
  ['an unknown value', /^isolation: must be worktree$/, (retinue) => retinue.delegate({ task: 'x', isolation: 'tree' as never })],
  ['a text instead of a brief', /^a brief is an object with a `task`/, (retinue) => retinue.delegate('do it' as never)],
  [
    'an unknown run',
    /^there is no run that begins with ab; `ps` with the option `all` lists all runs$/,
    (retinue) => retinue.api.show('ab'),
  ],
  [
    'a call after close',
    /^nothing more can be started: `close` was called$/,
    async (retinue) => {
      await retinue.close();
      return retinue.delegate({ task: 'x' });
    },
  ],
  ['another folder', /^workspace: this process works in /, (retinue) => retinue.delegate({ task: 'x', workspace: '/elsewhere' })],
  [
    'a cost limit of a brief for a model without a price',
    /remove the cost limit of \$1 from `limits\.maxCostUsd` of the brief$/,
    (retinue) => retinue.delegate({ task: 'x', limits: { maxCostUsd: 1 } }),
  ],
  [
    'a cost limit of a scope for a model without a price',
    /remove the cost limit of \$1 from the run or scope that delegates it$/,
    (retinue) => retinue.scope({ limits: { maxCostUsd: 1 } }).delegate({ task: 'x' }),
  ],
];

describe('errors of the library', () => {
  it.each(refused)('%s', async (what, message, call) => {
    await using retinue = createRetinue({ model: what.includes('price') ? unpriced : model });
    const error = await call(retinue).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect((error as Error).message).not.toMatch(/(^|[\s(`])--?[a-zA-Z]/);
  });

  it('a program without options is told what it has to pass', () => {
    expect(() => (createRetinue as () => unknown)()).toThrow(/^`createRetinue` takes an object with at least a `model`/);
  });

  it('the export of a live tree names the option', async () => {
    await using retinue = createRetinue({ model });
    const run = await retinue.delegate({ task: 'x' });
    await expect(retinue.api.export(run.id, { live: false })).rejects.toMatchObject({
      code: 'live_tree',
      option: 'live',
      message: expect.stringMatching(/the option `live` exports what is recorded so far$/),
    });
  });
});
