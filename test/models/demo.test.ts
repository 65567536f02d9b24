import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseScript } from '../../src/models/script/format.ts';

const script = parseScript('fan-out.json', readFileSync('examples/demo/fan-out.json', 'utf8'));

test('the demonstration uses only files that exist, and that the package contains', () => {
  const calls = script.runs.flatMap((run) => run.steps.flatMap((step) => step.calls ?? []));
  const paths = calls.flatMap((call) => (call.args as { path?: string }).path ?? []);
  expect(paths.length).toBeGreaterThan(8);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
  const packed = [...files, 'package.json'];
  expect(paths.filter((path) => !packed.includes(path.split('/')[0] ?? ''))).toEqual([]);
});

test('each child has its own steps, and one is slower than the others', () => {
  const [root, ...children] = script.runs;
  const delegated = root?.steps[0]?.calls?.[0]?.args as { tasks: { label: string }[] } | undefined;
  expect(delegated?.tasks.map((task) => task.label)).toEqual(children.map((child) => child.when?.label));
  const times = children.map((child) => child.steps.reduce((sum, step) => sum + (step.delayMs ?? 0), 0)).sort((a, b) => b - a);
  expect(times[0]).toBeGreaterThan(2 * (times[1] ?? 0));
});

test('every example in the documentation is a valid script', () => {
  const examples = readFileSync('docs/scripted-models.md', 'utf8').matchAll(/```json\n(.*?)```/gs);
  expect(Array.from(examples, ([, text]) => parseScript('doc', text ?? '').runs.length)).toEqual([1, 1, 2]);
});
