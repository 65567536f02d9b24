// `retinue message` has the rules of HTTP and the library: what a text may be, for live and for ended runs.
import { expect, it } from 'vitest';
import { createCli } from './support.ts';

it.each([
  [['last', ' '], 2, 'text: must not be empty: the run has ended, and the message is the task of the run that continues it'],
  [['last', '--deny', 'bash'], 2, 'text: must not be empty: the run has ended'],
  [['last', 'é'.repeat(32_769)], 2, 'text: has 65538 bytes, and at most 65536 are possible; put long material into a file'],
  [['last', 'x', '--deny', 'bash git'], 2, 'rule `deny bash git`: a pattern needs a colon before it'],
  [['last', '--compact'], 1, 'has ended, so its conversation is not needed any more'],
  [['last', '--compact', 'x'], 2, '--compact takes no text and no other order; send them with a second'],
  [['ffff', 'x'], 1, 'there is no run that begins with ffff; '],
  [['nope', 'x'], 1, '`nope` is not a run id: use hex digits, or `last`'],
])('refuses %j', async (args, exit, message) => {
  using cli = createCli();
  expect((await cli.run(['run', 'x'])).code).toBe(0);
  for (const format of [[], ['--json']]) {
    const { code, stdout, stderr } = await cli.run(['message', ...args, ...format]);
    expect([code, stdout, stderr]).toEqual([
      exit,
      '',
      expect.stringContaining(`retinue: ${message.startsWith('has ended') ? 'run ' : message}`),
    ]);
    expect(stderr).toContain(message);
  }
  expect(await cli.json<object[]>('ps', '--all')).toHaveLength(1);
});
