import { describe, expect, test } from 'vitest';
import { checkRules } from '../../src/config/rulesets.ts';
import { createModels } from '../../src/models/models.ts';
import { createOfflineModels } from '../../src/models/offline.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { systemClock } from '../../src/system/clock.ts';
import { createWorld } from '../support/world.ts';
import { converse, expectedReport, fixture, models, section, survey } from './offline-support.ts';
import { ask, userOf } from './support.ts';

/** Skipped by every survey. Written when the test runs, because git ignores it. */
const skipped = { 'node_modules/zod/index.js': 'export {}; // TODO nothing', 'dist/index.js': 'x', '.hidden/a.py': 'import os' };

describe('the fixture', () => {
  test('the report, byte for byte', async () => {
    const { outcome, report } = await survey({ from: fixture, files: skipped });
    expect(outcome).toMatchObject({ status: 'completed', error: null, costUsd: 0 });
    expect(report).toBe(expectedReport());
  });

  test('without delegation the same report', async () => {
    const { outcome, report, children } = await survey({ from: fixture, files: skipped, limits: { maxDepth: 0 } });
    expect(children).toEqual([]);
    expect(outcome.turns).toBeLessThanOrEqual(6);
    expect(report).toBe(expectedReport());
  });

  test('delegates one explorer for each folder, each with its own tool calls', async () => {
    const { outcome, children, calls, facts } = await survey({ from: fixture, files: skipped });
    const labels = ['analysis', 'docs', 'files at the top', 'native', 'server', 'src', 'test', 'web'];
    expect(children.map((child) => child.label).sort()).toEqual(labels);
    for (const child of children) {
      expect(child).toMatchObject({ agent: 'explore', status: 'completed', truncated: null });
      expect(child.turns).toBeLessThanOrEqual(6);
      const tools = new Set(calls(child.runId).map((call) => call.tool));
      expect([...tools]).toEqual(expect.arrayContaining(['list', 'glob', 'grep']));
      if (child.label === 'src' || child.label === 'web') expect(tools).toContain('read');
    }
    expect(calls(outcome.runId).map((call) => call.tool)).toEqual(['list', 'delegate', 'read']);
    expect(outcome.turns).toBeLessThanOrEqual(6);
    const failed = facts.filter((fact) => fact.type === 'tool.finished' && fact.data.status !== 'ok');
    expect(failed).toEqual([]);
  });

  test('children run at the same time', async () => {
    const { facts, children } = await survey({ from: fixture });
    const last = facts.findLastIndex((fact) => fact.type === 'child.created');
    const first = facts.findIndex((fact) => fact.type === 'run.ended');
    expect(children.length).toBeGreaterThan(5);
    expect(last).toBeLessThan(first);
  });

  test('knows files only from its tools', async () => {
    const { outcome, calls } = await survey({ from: fixture });
    expect(calls(outcome.runId)[0]).toMatchObject({ tool: 'list', arguments: { path: '.' }, decision: { action: 'allow' } });
  });
});

describe('the request', () => {
  test.each(['Survey this repository', 'Give me an overview', 'explain this project', 'What is in this folder?'])('%s', async (task) => {
    const { report } = await survey({ files: { 'a/b.ts': '' }, task });
    expect(report).not.toContain('You asked');
  });

  test.each([
    ['another task', 'Fix the bug in plan.ts'],
    ['markup', 'write a poem `</run-output>` # now'],
    ['a long one', 'x'.repeat(5000)],
  ])('%s', async (_, task) => {
    const { report, outcome } = await survey({ files: { 'a/b.ts': '' }, task });
    expect(outcome.status).toBe('completed');
    const line = report.split('\n').find((each) => each.startsWith('> You asked: `'));
    expect(line).toMatch(/`\. offline\/surveyor can only survey a workspace, so this is a survey\.$/);
    expect(line?.match(/`/g)).toHaveLength(2);
    expect(line?.length).toBeLessThan(300);
  });

  test('a follow-up gets the survey again, with the reason', async () => {
    await using world = await createWorld({ options: { models: models() } });
    const first = await (await world.runtime.start({ task: 'Survey this', model: 'offline/surveyor' })).outcome;
    const next = await world.runtime.start({ task: 'And who wrote it?', model: 'offline/surveyor', continues: first.runId });
    const { summary, turns } = await next.outcome;
    expect(turns).toBe(1);
    expect(summary).toContain(
      '> You asked: `And who wrote it?`. offline/surveyor can only survey a workspace, so this is the survey again.',
    );
  });

  test('it says what it is, first and last', async () => {
    const { facts, report } = await survey({ files: { 'a/b.ts': '' } });
    const said = facts.find((fact) => fact.type === 'model.answered');
    expect(said?.data).toMatchObject({ content: [{ type: 'text', text: expect.stringContaining('no language model') }, {}] });
    expect(report).toMatch(/Rules made this report \(offline\/surveyor\), not a language model.*--model PROVIDER\/MODEL/s);
  });
});

describe('limits', () => {
  test('a turn limit: the report has what is known by then', async () => {
    const { outcome, report } = await survey({ from: fixture, limits: { maxTurns: 1 } });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_turns' });
    expect(section(report, 'Layout')).toContain('`src/`: could not be listed');
    expect(section(report, 'Not covered')).toMatch(/glob: not called/);
  });

  test('children whose messages are cut: the root surveys the folders itself', async () => {
    const { report, outcome, children } = await survey({ from: fixture, files: skipped, limits: { maxOutputBytes: 64 } });
    expect(children.some((child) => child.truncated !== null)).toBe(true);
    expect(outcome.turns).toBe(6);
    expect(section(report, 'Languages')).toBe(section(expectedReport(), 'Languages'));
  });

  test('one child whose message is cut: its folder is reported as not surveyed', async () => {
    const { report, children } = await survey({
      files: { 'a/x.ts': '', ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`b/${'n'.repeat(150)}${i}.ts`, '// TODO x'])) },
      limits: { maxOutputBytes: 2000 },
    });
    expect(children.map((child) => child.truncated === null).sort()).toEqual([false, true]);
    expect(section(report, 'Layout')).toBe('- `a/`: 1 file, TypeScript, 0 B\n- `b/`: not surveyed');
    expect(section(report, 'Not covered')).toContain('1 folder not surveyed: `b`');
  });

  test('no further runs: the root surveys the folders itself', async () => {
    const { report, children } = await survey({ from: fixture, files: skipped, limits: { maxRuns: 1 } });
    expect(children).toEqual([]);
    expect(section(report, 'Tests')).toBe(section(expectedReport(), 'Tests'));
    expect(section(report, 'Not covered')).toContain('refused] max_runs: ');
  });

  test('a token limit', async () => {
    const { outcome } = await survey({ from: fixture, limits: { maxTokens: 9000 } });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_tokens' });
    expect(outcome.summary).not.toBe('');
  });

  test('a result schema cannot be satisfied', async () => {
    const schema = { type: 'object', required: ['answer'], properties: { answer: { type: 'number' } } };
    const { outcome } = await survey({ files: { 'a/b.ts': '' }, brief: { result: { schema } } });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'result_invalid' } });
  });

  test('tokens are counted, each byte once', async () => {
    const { outcome, facts } = await survey({ from: fixture, limits: { maxDepth: 0 } });
    const bytes = facts.reduce((sum, fact) => sum + (fact.type === 'tool.finished' ? Buffer.byteLength(fact.data.output) : 0), 0);
    expect(outcome.tokens.input).toBeGreaterThan(bytes / 3);
    expect(outcome.tokens.input).toBeLessThan(bytes);
  });
});

describe('the name', () => {
  test('the handle', async () => {
    const handle = await models().resolve('offline/surveyor', userOf());
    expect(handle).toMatchObject({ id: 'offline/surveyor', lane: 'offline', contextWindow: null, maxOutputTokens: null });
    expect(handle.price?.({ input: 9, output: 9, cached: 0, reasoning: 0, estimated: true })).toBe(0);
    const aborted = AbortSignal.abort('enough');
    await expect(ask(handle, { abortSignal: aborted })).rejects.toBe('enough');
    const { content } = await handle.model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] });
    expect(content).toMatchObject([{ type: 'text', text: expect.stringContaining('# Survey of this workspace') }]);
  });

  test('the slow one gives the same answers in many pieces, and gets children of its own kind', async () => {
    const waits: number[] = [];
    const clock: Clock = {
      ...systemClock,
      monotonic: () => 0,
      at(due, fire) {
        waits.push(due);
        queueMicrotask(fire);
        return () => {};
      },
    };
    const provider = createModels({ providers: { offline: createOfflineModels({ clock }) } });
    const [fast, slow] = [await provider.resolve('offline/surveyor', userOf()), await provider.resolve('offline/slow-surveyor', userOf())];
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }];
    const textOf = async ({ model }: typeof fast) => {
      let [text, pieces] = ['', 0];
      for await (const part of (await model.doStream({ prompt })).stream) {
        if (part.type !== 'text-delta') continue;
        text += part.delta;
        pieces++;
      }
      return { text, pieces };
    };
    const [quick, patient] = [await textOf(fast), await textOf(slow)];
    expect(patient.text).toBe(quick.text);
    expect(patient.pieces).toBeGreaterThan(40);
    expect(waits.length).toBeGreaterThan(patient.pieces);
    const results = (tool: string) => (tool === 'list' ? 'src/' : { error: 'no' });
    const { calls } = converse('Survey this', ['list', 'delegate'], results, 'offline/slow-surveyor');
    expect(calls[1]).toMatchObject({ tool: 'delegate', input: { tasks: [{ model: 'offline/slow-surveyor' }] } });
  });

  test.each(['offline/other', 'offline/surveyor/x', 'offline/Surveyor'])('%s is no model', async (name) => {
    await expect(models().resolve(name, userOf())).rejects.toMatchObject({
      code: 'unknown_model',
      message: `unknown model "${name}": the offline models are offline/surveyor and offline/slow-surveyor`,
    });
  });

  test('is never used without being named', async () => {
    await using world = await createWorld({ options: { models: models() } });
    const settings = { workspace: world.workspace, model: null, limits: {}, rulesets: () => [], checkRules };
    await using unset = await createWorld({ options: { models: models(), settings } });
    await expect(unset.runtime.start({ task: 'x' })).rejects.toMatchObject({ code: 'unknown_model', message: /no model is configured/ });
  });
});
