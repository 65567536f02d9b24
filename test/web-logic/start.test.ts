// The form that starts a run: what the user typed becomes a brief that a real server accepts, and its errors lead to the right field.
import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { emptyForm, errorToField, formToBrief, parseDuration, type StartForm } from '../../web/src/pages/start/form.ts';
import { createTestServer, tokenOf } from '../server/support.ts';

const form = (more: Partial<StartForm>): StartForm => ({ ...emptyForm, task: 'look', ...more });

describe('the brief', () => {
  it('has only what was filled in', () => {
    expect(formToBrief(form({}))).toEqual({ brief: { task: 'look', agent: 'general' }, errors: {} });
  });

  it('has everything that was filled in', () => {
    const all = form({
      ...{ task: ' look around ', label: 'a look', agent: 'explore', model: 'script/main', context: 'some context\n', denied: ['grep'] },
      ...{
        files: 'a.md\n\n  b/c.md  ',
        rules: 'deny bash\nask write',
        maxTurns: '10',
        timeout: '10m',
        maxCostUsd: '$0.50',
        maxTokens: '100 000',
      },
      schema: '{"type": "object"}',
    });
    expect(formToBrief(all)).toEqual({
      errors: {},
      brief: {
        ...{ task: 'look around', label: 'a look', agent: 'explore', model: 'script/main', context: 'some context\n' },
        ...{ files: ['a.md', 'b/c.md'], tools: { deny: ['grep'] }, rules: ['deny bash', 'ask write'] },
        limits: { maxTurns: 10, timeoutMs: 600_000, maxCostUsd: 0.5, maxTokens: 100_000 },
        result: { schema: { type: 'object' } },
      },
    });
  });

  it.each([
    ['task', '  '],
    ['maxTurns', '0'],
    ['maxTurns', '501'],
    ['maxTurns', 'many'],
    ['timeout', 'soon'],
    ['maxCostUsd', '-1'],
    ['maxTokens', '1.5'],
    ['schema', '{'],
    ['schema', '[]'],
  ] as const)('says at the field %s that "%s" is wrong', (field, text) => {
    const { errors } = formToBrief(form({ [field]: text }));
    expect(Object.keys(errors)).toEqual([field]);
  });
});

it.each([
  ['90s', 90_000],
  ['90', 90_000],
  ['10m', 600_000],
  ['1h30m', 5_400_000],
  ['1h 30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['500ms', 500],
])('reads %s as a time', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(['', '0', '10 x', 'm', '1h30', '-5m', '600h', 'ten'])('refuses "%s" as a time', (text) => {
  expect(parseDuration(text)).toBeTypeOf('string');
});

it('leads each error of the server to its field', async () => {
  await using server = await createTestServer({ script: { runs: [{ times: 'any', steps: [{ text: 'done' }] }] } });
  const client = createClient({ url: server.server.url, token: tokenOf('start') });
  const fieldOf = (brief: object) =>
    client.start({ task: 'look', ...brief } as { task: string }).then(
      () => 'started',
      (error: Error & { code: string }) => errorToField(error),
    );
  expect(
    await fieldOf(formToBrief(form({ files: 'a.md', denied: ['grep'], rules: 'deny write', maxTurns: '3', timeout: '1m' })).brief),
  ).toBe('started');
  expect(await fieldOf({ task: ' ' })).toBe('task');
  expect(await fieldOf({ task: 'x'.repeat(70_000) })).toBe('task');
  expect(await fieldOf({ label: 'x'.repeat(300) })).toBe('label');
  expect(await fieldOf({ agent: 'explor' })).toBe('agent');
  expect(await fieldOf({ model: 'foo/bar' })).toBe('model');
  expect(await fieldOf({ files: ['x'.repeat(5000)] })).toBe('files');
  expect(await fieldOf({ tools: { deny: ['bassh'] } })).toBe('denied');
  expect(await fieldOf({ rules: ['denny bash'] })).toBe('rules');
  expect(await fieldOf({ limits: { maxTurns: 0 } })).toBe('maxTurns');
  expect(await fieldOf({ limits: { timeoutMs: -1 } })).toBe('timeout');
  expect(await fieldOf({ limits: { maxTokens: 0.5 } })).toBe('maxTokens');
  expect(await fieldOf({ limits: { maxCostUsd: 1 } })).toBe('maxCostUsd');
  expect(await fieldOf({ result: { schema: { type: 'string' } } })).toBe('schema');
  expect(await fieldOf({ odd: 1 })).toBeNull();
});
