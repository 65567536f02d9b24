// Effort and models by agent on the command line: flags, the configuration, and what `show`, `logs`, `config` and `agents explain` say.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createCli } from './support.ts';

const look = { calls: [{ tool: 'glob', args: { pattern: 'x' } }], usage: { input: 1000, output: 100 } };

describe('--effort', () => {
  const steps = (effort: string | number | null) => ({ runs: [{ steps: [{ expect: { effort }, text: 'done' }] }] });

  it.each([
    ['high', 'high'],
    ['4000', 4000],
  ] as const)('%s reaches the model and is shown', async (flag, effort) => {
    using cli = createCli(steps(effort));
    expect(await cli.run(['run', '--effort', flag, 'work'])).toMatchObject({ code: 0 });
    expect((await cli.run(['show', 'last'])).stdout).toMatch(
      new RegExp(`^effort +${effort === 4000 ? '4000 thinking tokens' : 'high'}$`, 'm'),
    );
    expect(JSON.parse((await cli.run(['show', 'last', '--json'])).stdout)).toMatchObject({ effort, brief: { effort } });
    expect((await cli.run(['logs', 'last'])).stdout).toMatch(/turn 1 · effort/);
    expect((await cli.run(['replay', 'last'])).code).toBe(0);
  });

  it.each([
    ['hihg', 'did you mean'],
    ['0', 'from 1 to 1000000'],
    ['1.5', 'from 1 to 1000000'],
  ])('%s is refused', async (flag, message) => {
    using cli = createCli(steps(null));
    expect(await cli.run(['run', '--effort', flag, 'work'])).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  it('is refused by a model that does not think', async () => {
    using cli = createCli(steps(null));
    const refused = await cli.run(['run', '--model', 'offline/surveyor', '--effort', 'high', 'work']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('high is not possible with offline/surveyor') });
  });

  it('of a configuration that is trusted is used, and a wrong one is an error', async () => {
    using cli = createCli({ ...steps('low'), config: { effort: 'low' } });
    await cli.run(['trust', '--yes']);
    expect((await cli.run(['run', 'work'])).code).toBe(0);
    expect((await cli.run(['config'])).stdout).toMatch(/^effort +"?low"? +.*retinue\.config\.json$/m);
    using wrong = createCli({ ...steps(null), config: { effort: 'lots' } });
    expect(await wrong.run(['run', 'work'])).toMatchObject({ code: 2, stderr: expect.stringContaining('must be none, minimal, low') });
  });
});

describe('models by agent', () => {
  const models = { '*': 'script/all.json', explore: ['script/big.json', 'script/small.json'], explorre: 'script/none.json' };
  const script = (price: number, ...steps: object[]) =>
    JSON.stringify({ model: { price: { input: price, output: price } }, runs: [{ times: 'any', steps }] });
  const files = {
    'all.json': script(1, { text: 'from all' }),
    'big.json': script(100, look),
    // A script that takes over goes on after the answers that the run has had.
    'small.json': script(1, look, { text: 'from small' }),
  };
  const open = () => createCli({ config: { model: models }, files, env: { RETINUE_MODEL: '' } });

  it('are used, explained and listed', async () => {
    using cli = open();
    await cli.run(['trust', '--yes']);
    const ran = await cli.run(['run', '--agent', 'plan', 'work']);
    expect(ran.stdout).toContain('from all');
    expect(ran.stderr).toMatch(/`model\.explorre` in .* has no effect: there is no agent explorre; did you mean `explore`\?/);
    expect((await cli.run(['agents', 'explain', 'explore'])).stdout).toMatch(
      /^model +script\/big\.json, then script\/small\.json +model\.explore in .*retinue\.config\.json$/m,
    );
    expect((await cli.run(['agents'])).stdout).toContain('script/big.json, script/small.json');
    expect((await cli.run(['config'])).stdout).toMatch(/^model\.explore /m);
  });

  it('go on to a cheaper one when money is short, and `show` and `logs` say why', async () => {
    using cli = open();
    await cli.run(['trust', '--yes']);
    const ran = await cli.run(['run', '--agent', 'explore', '--budget-usd', '0.3', 'work']);
    expect(ran.stdout).toContain('from small');
    const { stdout } = await cli.run(['show', 'last']);
    expect(stdout).toMatch(/^model +script\/big\.json \(then script\/small\.json\)$/m);
    expect(stdout).toMatch(
      /script\/small\.json from turn 2 on: the budget has \$0\.\d+ left, and a call of script\/big\.json needs about \$0\.\d+/,
    );
    expect((await cli.run(['logs', 'last'])).stdout).toMatch(/turn 2 · script\/small\.json: the budget has/);
    expect((await cli.run(['replay', 'last'])).code).toBe(0);
  });

  it('are listed with what each of them cost', async () => {
    using cli = open();
    await cli.run(['trust', '--yes']);
    await cli.run(['run', '--agent', 'explore', '--budget-usd', '0.3', 'work']);
    type Groups = { groups: { name: string; runs: number; tokens: { input: number }; costUsd: number }[]; total: { costUsd: number } };
    const { groups, total } = await cli.json<Groups>('costs', '--by', 'model');
    expect(groups).toMatchObject([
      { name: 'script/big.json', runs: 1, tokens: { input: 1000 } },
      { name: 'script/small.json', runs: 0 },
    ]);
    const { costUsd } = await cli.json<{ costUsd: number }>('show', 'last');
    expect(groups[0]?.costUsd).toBeCloseTo((1100 * 100) / 1_000_000);
    expect((groups[0]?.costUsd ?? 0) + (groups[1]?.costUsd ?? 0)).toBeCloseTo(costUsd);
    expect(total.costUsd).toBeCloseTo(costUsd);
    expect((await cli.json<Groups>('costs', '--by', 'agent')).groups).toMatchObject([{ name: 'explore', runs: 1 }]);
    // The row is computed from the facts.
    expect((await cli.run(['verify'])).code).toBe(0);
    // Earlier versions wrote rows without other models; one that Retinue never wrote is a fault.
    const change = (sql: string) => {
      using db = new DatabaseSync(join(cli.folder, '.retinue', 'retinue.db'));
      db.exec(`UPDATE runs SET row = ${sql}`);
    };
    change(`json_set(row, '$.otherModels[0].costUsd', 7)`);
    expect(await cli.run(['verify'])).toMatchObject({ code: 1, stdout: expect.stringContaining('does not match its facts') });
    change(`json_remove(row, '$.otherModels')`);
    expect((await cli.run(['verify'])).code).toBe(0);
  });

  it('are set aside by --model, with everything below', async () => {
    using cli = open();
    await cli.run(['trust', '--yes']);
    expect((await cli.run(['run', '--agent', 'explore', '--model', 'script/all.json', 'work'])).stdout).toContain('from all');
    expect((await cli.run(['agents', 'explain', 'explore', '--json'])).stdout).toContain('script/big.json');
  });
});
