// What `retinue message ID --compact` refuses; test/api/compact.test.ts has what it does.
import { resolve } from 'node:path';
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

it('`show` has the number of compactions, and the size before and after the last one', async () => {
  using cli = createCli();
  const journal = resolve(import.meta.dirname, '../fixtures/journals/v1/native-compacted.jsonl');
  expect((await cli.run(['import', journal])).code).toBe(0);
  expect((await cli.run(['show', 'last'])).stdout).toMatch(/^compactions +\d+ \(the last one: [\d.k]+ to [\d.k]+ tokens\)$/m);
  const { compactions } = (await cli.json('show', 'last')) as { compactions: { before: number; after: number }[] };
  const last = compactions.at(-1);
  expect(last?.before).toBeGreaterThan(last?.after ?? Number.POSITIVE_INFINITY);
});

it('`logs` has the same sizes as `show`, with the answer after a compaction', async () => {
  using cli = createCli();
  const journal = resolve(import.meta.dirname, '../fixtures/journals/v1/native-compacted.jsonl');
  expect((await cli.run(['import', journal])).code).toBe(0);
  const [, before, after] = /the last one: (\S+) to (\S+) tokens/.exec((await cli.run(['show', 'last'])).stdout) ?? [];
  const lines = (await cli.run(['logs', 'last'])).stdout.split('\n');
  const index = lines.findLastIndex((line) => line.includes('context.compacted'));
  expect(lines[index]).toMatch(new RegExp(`· ${before} tokens before · a summary of \\S+ tokens ·`));
  expect(lines.slice(index).find((line) => line.includes('model.answered'))).toContain(`compacted from ${before} to ${after} tokens`);
});
