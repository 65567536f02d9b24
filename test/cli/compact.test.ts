// What `retinue message ID --compact` refuses; test/api/compact.test.ts has what it does.
import { expect, it } from 'vitest';
import { createCli } from './support.ts';

it('takes no text, and no run that has ended', async () => {
  using cli = createCli();
  expect((await cli.run(['run', 'work'])).code).toBe(0);
  expect(await cli.run(['message', 'last', '--compact', 'please'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--compact takes no text'),
  });
  const ended = await cli.run(['message', 'last', '--compact']);
  expect(ended.code).not.toBe(0);
  expect(ended.stderr).toContain('has ended');
});
