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
  const erased = expect.stringMatching(
    new RegExp(`^erased ${runId}: 5 events, [\\d.]+ kB\\nthe database is [\\d.]+ kB smaller on disk\\n$`),
  );
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

it.each([
  ['y', 0],
  ['', 1],
])('gc asks before it erases what has just ended; after the answer %j the exit code is %d', async (answer, code) => {
  using cli = createCli();
  await cli.run(['run', 'x']);
  const questions: string[] = [];
  const ask = async (text: string) => {
    questions.push(text);
    return answer;
  };
  expect((await cli.run(['gc', '--older-than', '1h'], { ask })).code).toBe(0);
  expect((await cli.run(['gc', '--older-than', '0s', '--dry-run'], { ask })).code).toBe(0);
  expect(questions).toEqual([]);
  expect(await cli.run(['gc', '--older-than', '0s'])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('add --yes') });
  const now = () => Date.now() + 1_000;
  expect((await cli.run(['gc', '--older-than', '0s'], { ask, now })).code).toBe(code);
  expect(questions).toEqual([expect.stringMatching(/^Erase the content of 1 tree: 5 events, [\d.]+ kB, .* more than 0s ago\? \[y\/N\] $/)]);
  expect((await cli.run(['gc', '--older-than', '0s', '--yes'], { now })).stdout).toMatch(code === 0 ? /^erased 0 trees/ : /^erased 1 tree/);
});
