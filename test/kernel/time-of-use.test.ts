// Calls are judged again when they are made: earlier calls of the same answer, or anybody else, may have changed what their paths mean.
import { existsSync, readFileSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { FactOf } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld, type World } from '../support/world.ts';

function rules(...texts: string[]) {
  const builtIn = builtInRuleset([], ['link']);
  return [{ ...builtIn, rules: [...builtIn.rules, ...texts.map(parseRule)] }];
}

/** Replaces `at` with a link to `to`, as a command of the same answer could. */
function linker(workspace: () => string): AnyTool {
  return tool(
    'link',
    async ({ at, to }) => {
      relink(workspace(), at, to);
      return { output: 'linked' };
    },
    { input: z.strictObject({ at: z.string(), to: z.string() }), readOnly: false, idempotent: false } as Partial<AnyTool>,
  );
}

function relink(workspace: string, at: string, to: string): void {
  if (existsSync(join(workspace, at))) unlinkSync(join(workspace, at));
  symlinkSync(to, join(workspace, at));
}

const results = (world: World) =>
  (world.facts.filter((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>[]).map(({ data }) => data);
const questions = (world: World) => world.facts.filter((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>[];

describe('a call', () => {
  it('is judged by what its path has become through an earlier call of the same answer', async () => {
    let workspace = '';
    const calls = [
      { tool: 'link', args: { at: 'notes.txt', to: 'private.txt' } },
      { tool: 'write', args: { path: 'notes.txt', content: 'changed' } },
    ];
    await using world = await createWorld({
      files: { 'private.txt': 'mine' },
      agents: [anyAgent],
      tools: [linker(() => workspace)],
      rulesets: rules('deny write:private.txt'),
      script: { runs: [{ when: { agent: 'any' }, steps: [{ calls }, { text: 'done' }] }] },
    });
    workspace = world.workspace;
    await (await world.runtime.start({ task: 'x', agent: 'any' })).outcome;
    expect(results(world).map(({ status }) => status)).toEqual(['ok', 'denied']);
    expect(results(world)[1]?.output).toContain('deny write:private.txt');
    expect(readFileSync(join(workspace, 'private.txt'), 'utf8')).toBe('mine');
  });

  it('that was approved is denied if a link has been swapped in the meantime', async () => {
    await using world = await createWorld({
      files: { 'a.txt': 'a', 'b.txt': 'b' },
      agents: [anyAgent],
      rulesets: rules('ask write'),
      options: { questions: { canAnswer: () => true } },
      script: {
        runs: [
          { when: { agent: 'any' }, steps: [{ calls: [{ tool: 'write', args: { path: 'link.txt', content: 'new' } }] }, { text: 'done' }] },
        ],
      },
    });
    relink(world.workspace, 'link.txt', 'a.txt');
    const run = await world.runtime.start({ task: 'x', agent: 'any' });
    await expect.poll(() => questions(world).length).toBe(1);
    const question = questions(world)[0]?.data as FactOf<'approval.asked'>['data'];
    expect(question.subjects).toEqual(['link.txt', 'a.txt']);
    relink(world.workspace, 'link.txt', 'b.txt');
    expect(await run.answer(question, { allowed: true, by: 'a test' })).toBe(true);
    await run.outcome;
    expect(results(world)[0]).toMatchObject({ status: 'denied', output: expect.stringContaining('`b.txt`; make the call again') });
    expect(readFileSync(join(world.workspace, 'b.txt'), 'utf8')).toBe('b');
  });

  it('that was allowed for good needs approval again if its target has changed', async () => {
    let workspace = '';
    const change = { tool: 'write', args: { path: 'link.txt', content: 'new' } };
    const swap = { tool: 'link', args: { at: 'link.txt', to: 'b.txt' } };
    await using world = await createWorld({
      files: { 'a.txt': 'a', 'b.txt': 'b' },
      agents: [anyAgent],
      tools: [linker(() => workspace)],
      rulesets: rules('ask write'),
      options: { questions: { canAnswer: () => true } },
      script: {
        runs: [{ when: { agent: 'any' }, steps: [{ calls: [change] }, { calls: [swap, change] }, { calls: [change] }, { text: 'done' }] }],
      },
    });
    workspace = world.workspace;
    relink(workspace, 'link.txt', 'a.txt');
    const run = await world.runtime.start({ task: 'x', agent: 'any' });
    await expect.poll(() => questions(world).length).toBe(1);
    await run.answer((questions(world)[0] as FactOf<'approval.asked'>).data, { allowed: true, always: true, by: 'a test' });
    await expect.poll(() => questions(world).length).toBe(2);
    expect(results(world).map(({ status }) => status)).toEqual(['ok', 'ok', 'denied']);
    expect(results(world)[2]?.output).toContain('has changed since it was judged');
    expect(questions(world)[1]?.data.subjects).toEqual(['link.txt', 'b.txt']);
    await run.answer((questions(world)[1] as FactOf<'approval.asked'>).data, { allowed: false, by: 'a test' });
    await run.outcome;
    expect(readFileSync(join(workspace, 'b.txt'), 'utf8')).toBe('b');
  });
});
