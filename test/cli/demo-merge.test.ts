// `retinue demo merge`: what it prints is true of the files that it leaves.
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { MergeDemoResult } from '../../src/cli/commands/demo-merge.ts';
import { createPlace } from './support-process.ts';

it('applies two writers and reports the conflict of the third', { timeout: 60_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'merge', '--json');
  expect(code, err).toBe(0);
  const { db, workspace, children, applied, conflicts } = JSON.parse(out) as MergeDemoResult;
  const ids = Object.fromEntries(children.map(({ label, runId }) => [label, runId]));
  expect(applied).toEqual([ids.simplify, ids.round]);
  expect(conflicts).toEqual([{ runId: ids.quantities, paths: ['order.js'] }]);
  const text = readFileSync(join(workspace, 'order.js'), 'utf8');
  expect(text).toContain('reduce');
  expect(text).toContain('Math.round');
  expect(text).not.toContain('quantity');
  expect(err).toContain('+  return items.reduce');
  // The commands that it recommends work.
  const undone = await place.run('undo', ...children.map(({ runId }) => runId), '-C', workspace, '--db', db);
  expect(undone, undone.err).toMatchObject({ code: 0 });
  expect(readFileSync(join(workspace, 'order.js'), 'utf8')).toContain('sum = sum + items[i].price');
  rmSync(dirname(db), { recursive: true, force: true });
});

it('says so in words', { timeout: 60_000 }, async () => {
  using place = createPlace({ runs: [] });
  const { code, out, err } = await place.run('demo', 'merge');
  expect(code).toBe(0);
  expect(out).toMatch(
    /^applied {3}\w+ simplify\napplied {3}\w+ round\nconflict {2}\w+ quantities: order\.js was changed in the same place\n$/,
  );
  rmSync(dirname(/--db (\S+)/.exec(err)?.[1] ?? '/nonexistent'), { recursive: true, force: true });
});
