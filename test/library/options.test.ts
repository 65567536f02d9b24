// Wrong options of the library fail when they are given, with their name.
import { describe, expect, it } from 'vitest';
import { createRetinue, isRetinueError, type RetinueOptions } from '../../src/main/index.ts';

const approve = async () => true;

function refusal(options: object): string {
  try {
    createRetinue({ model: 'offline/surveyor', ...options } as RetinueOptions);
  } catch (error) {
    return isRetinueError(error) ? `${error.code}: ${error.message}` : String(error);
  }
  return 'accepted';
}

describe('createRetinue', () => {
  const table: [options: object, message: RegExp][] = [
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2_147_483_648, '10m', null].map((approveMs): [object, RegExp] => [
      { approve, approveMs },
      /^invalid_limit: `approveMs`: must be/,
    ]),
    [{ approveMs: 1000 }, /^usage: `approveMs` has no effect without `approve`/],
    [{ approve: true }, /^usage: `approve`: must be a function/],
    [{ limits: { maxTurns: 0 } }, /^invalid_limit: `limits\.maxTurns`: must be at least 1/],
    [{ limits: { maxTurn: 3 } }, /^invalid_limit: `limits`: has an unknown key `maxTurn`; did you mean `maxTurns`/],
    [{ limits: { timeoutMs: '5m' } }, /^invalid_limit: `limits\.timeoutMs`/],
    [{ prices: { 'a/b': { input: -1, output: 1 } } }, /^usage: `prices\.a\/b\.input`: must be at least 0/],
    [{ prices: { 'a/b': { input: 1 } } }, /^usage: `prices\.a\/b\.output`/],
    [{ prices: { big: { input: 1, output: 1 } } }, /^usage: `prices\.big`: must name provider and model/],
    [{ rules: ['alow bash'] }, /^invalid_rule: .*did you mean `allow`/],
    [{ rules: ['deny bash', 'deny bahs'] }, /^invalid_rule: `deny bahs` \(options, rules\.1\): unknown tool `bahs`; did you mean `bash`/],
    [{ rules: ['deny Bash'] }, /^invalid_rule: .*did you mean `bash`/],
    [{ rules: ['deny mcp__github'] }, /^invalid_rule: .*write `mcp__github__\*`/],
    [
      { agents: [{ name: 'a', description: 'd', prompt: 'p', rules: ['deny wriet'] }] },
      /^invalid_rule: `deny wriet` \(agents\.0, rules\.0\).*did you mean `write`/,
    ],
    [{ rules: [1] }, /^usage: `rules\.0`: must be a rule/],
    [{ host: 'docker' }, /^usage: `host`: must be one of inline, process/],
    [{ sandbox: true }, /^usage: `sandbox`: must be one of required, auto, off/],
    [{ workspace: '/nowhere/at/all' }, /^usage: unknown directory `\/nowhere\/at\/all`/],
    [{ workspace: 1 }, /^usage: `workspace`: must be the path of a folder/],
    [{ agents: [{ name: 'No Name', description: '', prompt: '' }] }, /^usage: `agents\.0\.name`: lower-case letters/],
    [{ agents: [{ name: 'a' }] }, /^usage: `agents\.0\.description`/],
    [{ mcpServers: { 'a b': { command: 'x' } } }, /^invalid_config: `mcpServers\.a b`/],
    [{ store: {} }, /^usage: `store`: must be a store/],
    [{ dialect: 'dex' }, /^usage: `dialect`: must be a dialect of/],
    [{ tools: { x: 1 } }, /^usage: `tools\.x`: must be a tool object/],
    [{ model: '' }, /^usage: `model`: must be a name/],
    [{ model: undefined }, /^usage: `model` is missing/],
    [{ approvMs: 1 }, /^usage: unknown option `approvMs`; did you mean `approveMs`\?/],
  ];
  it.each(table)('%j is refused', (options, message) => expect(refusal(options)).toMatch(message));

  it('accepts what is right, and options that are undefined', () => {
    expect(
      refusal({
        approve,
        approveMs: 2_147_483_647,
        limits: { maxTurns: 1 },
        prices: { 'a/b': { input: 0, output: 0 } },
        rules: ['deny bash', 'deny web*', 'deny network', 'ask mcp__github__push', 'deny Task', 'deny acp__claude__Skill'],
      }),
    ).toBe('accepted');
    expect(refusal({ approveMs: undefined, limits: undefined, workspace: undefined })).toBe('accepted');
  });
});

describe('scope and all', () => {
  const retinue = createRetinue({ model: 'offline/surveyor' });
  it.each([
    [{ limits: { maxTurns: 0 } }, /`limits\.maxTurns`: must be at least 1/],
    [{ label: 'x'.repeat(201) }, /`label`: must have at most 200 characters/],
    [{ signal: {} }, /`signal`: must be an AbortSignal/],
    [{ limit: {} }, /unknown option `limit`; did you mean `limits`\?/],
  ])('scope(%j) is refused', (options, message) => expect(() => retinue.scope(options as object)).toThrow(message));

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1.5])(
    'all with concurrency %d is refused, and nothing is left undone in silence',
    async (concurrency) => {
      await expect(retinue.all([{ task: 'x' }], { concurrency })).rejects.toThrow(/`concurrency`: must be/);
    },
  );
});
