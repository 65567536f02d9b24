// What `rm` does with the answer of the person at the terminal.
import { expect, it } from 'vitest';
import { createCli } from './support.ts';

it.each([
  ['y', 0],
  ['YES', 0],
  ['', 1],
  ['no', 1],
])('after the answer %j the exit code is %d', async (answer, code) => {
  using cli = createCli();
  await cli.run(['run', 'x']);
  const [{ runId }] = await cli.json<[{ runId: string }]>('ps', '--all');
  let question = '';
  const ask = async (text: string) => {
    question = text;
    return answer;
  };
  const result = await cli.run(['rm', 'last'], { ask });
  expect(question).toMatch(new RegExp(`1 tree \\(5 events, [\\d.]+ kB\\): ${runId} permanently\\?`));
  const erased = expect.stringMatching(new RegExp(`^erased ${runId}: 5 events, [\\d.]+ kB\\n$`));
  expect([result.code, result.stdout]).toEqual([code, code === 0 ? erased : '']);
  const left = await cli.json<object[]>('logs', runId);
  expect(left.filter((fact) => 'erased' in fact)).toHaveLength(code === 0 ? 5 : 0);
});

it('without a terminal nothing is erased unless --yes is given', async () => {
  using cli = createCli();
  await cli.run(['run', 'x']);
  expect(await cli.run(['rm', 'last'])).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
  expect((await cli.run(['rm', 'last', '--yes'])).code).toBe(0);
});
