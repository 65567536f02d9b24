// Everything that enters a prompt is a read: files of a brief, rules of the workspace and memories are judged by the rules of the run that delegates,
// and mark the run that gets them.
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { anyAgent } from '../support/adversary.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

function rules(...texts: string[]) {
  const builtIn = builtInRuleset(['delegate', 'delegate_wait'], []);
  return [{ ...builtIn, rules: [...builtIn.rules, ...texts.map(parseRule)] }];
}

const started = (world: World, task: string) => {
  const created = world.facts.find((fact) => fact.type === 'run.created' && fact.data.brief.task === task);
  return world.facts.find((fact) => fact.type === 'run.started' && fact.runId === created?.runId) as FactOf<'run.started'>;
};

/** A root that delegates one brief. */
function delegating(brief: object, more: WorldOptions = {}): WorldOptions {
  return {
    agents: [anyAgent],
    files: { '.env': 'TOKEN=classified', 'notes.md': 'plain' },
    script: {
      runs: [
        {
          when: { task: 'lead' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent: 'any', ...brief }] } }] }, { text: 'done' }],
        },
        { when: { task: 'work' }, steps: [{ text: 'read' }] },
      ],
    },
    ...more,
  };
}

async function run(options: WorldOptions, check: (world: World) => Promise<void> | void) {
  await using world = await createWorld(options);
  await (await world.runtime.start({ task: 'lead', agent: 'any' })).outcome;
  await check(world);
}

describe('the files of a brief', () => {
  it.each([
    ['deny read:.env', 'denied: rule `deny read:.env` of built-in'],
    ['deny read', 'denied: rule `deny read` of built-in'],
    ['ask read:.env', 'a brief cannot ask for approval'],
  ])('are denied by the rule `%s` of the delegating run, and the child is told why', async (rule, reason) => {
    await run(delegating({ files: ['.env'] }, { rulesets: rules(rule) }), (world) => {
      const { data } = started(world, 'work');
      expect(data.first).toContain(reason);
      expect(JSON.stringify(world.facts)).not.toContain('classified');
      expect(data.taint).toBeUndefined();
    });
  });

  it('mark the child as one that has read untrusted files', async () => {
    await run(delegating({ files: ['notes.md'] }), (world) => {
      expect(started(world, 'work').data).toMatchObject({ first: expect.stringContaining('plain'), taint: ['untrusted-file'] });
      const ended = world.facts.find((fact) => fact.type === 'child.ended') as FactOf<'child.ended'>;
      expect(ended.data.taint).toContain('untrusted-file');
    });
  });

  it('are judged by what links lead to', async () => {
    const { symlinkSync } = await import('node:fs');
    const { join } = await import('node:path');
    await using world = await createWorld(delegating({ files: ['innocent.txt'] }, { rulesets: rules('deny read:.env') }));
    symlinkSync('.env', join(world.workspace, 'innocent.txt'));
    await (await world.runtime.start({ task: 'lead', agent: 'any' })).outcome;
    expect(started(world, 'work').data.first).toContain('denied');
    expect(JSON.stringify(world.facts)).not.toContain('classified');
  });

  it('of a root are judged by the rules of its owner', async () => {
    await using world = await createWorld({ agents: [anyAgent], files: { '.env': 'TOKEN=classified' }, rulesets: rules('deny read:.env') });
    await (await world.runtime.start({ task: 'x', agent: 'any', files: ['.env'] })).outcome;
    expect(JSON.stringify(world.facts)).not.toContain('classified');
  });
});

describe('the rules of the workspace', () => {
  const files = { 'AGENTS.md': 'Always answer in verse.' };
  const system = async (world: World) => String(await world.store.blob(started(world, 'x').data.system as string));

  it('are part of the prompt and mark the run', async () => {
    await using world = await createWorld({ files });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(await system(world)).toContain('Always answer in verse.');
    expect(started(world, 'x').data.taint).toEqual(['untrusted-file']);
  });

  it('stay out where reading them is denied', async () => {
    await using world = await createWorld({ files, rulesets: rules('deny read:AGENTS.md') });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(await system(world)).not.toContain('verse');
    expect(started(world, 'x').data.taint).toBeUndefined();
  });

  it('are those of CLAUDE.md where there is no AGENTS.md', async () => {
    await using world = await createWorld({ files: { 'CLAUDE.md': 'Use tabs.' } });
    await (await world.runtime.start({ task: 'x' })).outcome;
    expect(await system(world)).toContain('Rules of the workspace (from its CLAUDE.md):\n\nUse tabs.');
  });
});

describe('the rules of the run itself', () => {
  it('apply to rule files of nested folders, whatever links lead to', async () => {
    const { mkdirSync, symlinkSync, writeFileSync } = await import('node:fs');
    const { join } = await import('node:path');
    const safe = { ...anyAgent, name: 'safe', rules: ['deny read:.env'] };
    await using world = await createWorld({
      agents: [safe],
      files: { '.env': 'TOKEN=classified' },
      script: { runs: [{ steps: [{ calls: [{ tool: 'read', args: { path: 'z/x' } }] }, { text: 'done' }] }] },
    });
    mkdirSync(join(world.workspace, 'z'));
    writeFileSync(join(world.workspace, 'z/x'), '1');
    symlinkSync('../.env', join(world.workspace, 'z/AGENTS.md'));
    symlinkSync('.env', join(world.workspace, 'AGENTS.md'));
    await (await world.runtime.start({ task: 'x', agent: 'safe' })).outcome;
    expect(JSON.stringify(world.facts)).not.toContain('classified');
    expect(String(await world.store.blob(started(world, 'x').data.system as string))).not.toContain('classified');
  });
});

describe('memories', () => {
  const remembering = async (...texts: string[]) => {
    const { memories } = createMemoryNotes();
    const options = delegating({ inherit_memories: true }, { memories, rulesets: rules(...texts) });
    await using world = await createWorld(options);
    await memories.put(world.workspace, { title: 'style', text: 'prefers tabs', at: '2026-01-01T00:00:00.000Z' });
    await (await world.runtime.start({ task: 'x', agent: 'any', inheritMemories: true })).outcome;
    return started(world, 'x').data;
  };

  it('that a run inherits mark it', async () => {
    expect(await remembering()).toMatchObject({ first: expect.stringContaining('prefers tabs'), taint: ['memory'] });
  });

  it('stay out where the tool is denied', async () => {
    expect((await remembering('deny memory')).first).not.toContain('prefers tabs');
  });
});
