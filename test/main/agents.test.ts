import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogOf } from '../../src/main/agents.ts';
import { addTrust } from '../../src/main/trust.ts';
import { agentText, createPlace, type TestPlace } from './place.ts';

const builtIn = ['general', 'explore', 'plan', 'research', 'review'];
const sources = (place: TestPlace) =>
  Object.fromEntries(
    place
      .settings()
      .agents()
      .list.filter(({ source }) => source !== 'built-in')
      .map(({ name, source }) => [name, source.replace(place.folder, '')]),
  );

describe('agents of files', () => {
  it('come from four folders', () => {
    using place = createPlace();
    place.write('own/agents/a.md', agentText('a'));
    place.write('home/.claude/agents/b.md', agentText('b'));
    place.write('work/.retinue/agents/c.md', agentText('c'));
    place.write('work/.claude/agents/d.md', agentText('d'));
    place.write('work/.claude/agents/deeper/e.md', agentText('e'));
    place.write('work/.claude/agents/f.txt', agentText('f'));
    expect(sources(place)).toEqual({
      a: '/xdg/retinue/agents/a.md',
      b: '/home/.claude/agents/b.md',
      c: '.retinue/agents/c.md',
      d: '.claude/agents/d.md',
    });
    const catalog = catalogOf(place.settings());
    expect(catalog.list().map(({ name }) => name)).toEqual([...builtIn, 'a', 'b', 'c', 'd']);
    expect(catalog.get('c')?.prompt).toBe('You are c.');
  });

  it('are the built-in ones where there are none', () => {
    using place = createPlace();
    expect(place.settings().agents()).toMatchObject({ refused: [], warnings: [], trust: [] });
    expect(catalogOf(place.settings()).list()).toHaveLength(5);
  });

  it('of the user replace built-in ones; those of a workspace only with trust', () => {
    using place = createPlace();
    place.write('own/agents/plan.md', agentText('plan'));
    const file = place.write('work/.claude/agents/explore.md', agentText('explore', 'maxTurns: 100'));
    expect(sources(place)).toEqual({ plan: '/xdg/retinue/agents/plan.md' });
    const { trust } = place.settings().agents();
    expect(trust).toEqual([
      {
        path: file,
        hash: expect.any(String),
        state: 'untrusted',
        gives: [
          { what: 'replaces the agent explore', why: 'the one from built-in is used instead' },
          { what: 'limits.maxTurns = 100', why: 'the limit is 40' },
        ],
      },
    ]);
    addTrust(place.env, trust, '2026-01-02T03:04:05.000Z');
    expect(sources(place)).toEqual({ plan: '/xdg/retinue/agents/plan.md', explore: '.claude/agents/explore.md' });
    expect(catalogOf(place.settings()).get('explore')?.limits).toEqual({ maxTurns: 100 });
    place.write('work/.claude/agents/explore.md', agentText('explore', 'maxTurns: 200'));
    expect(sources(place)).toEqual({ plan: '/xdg/retinue/agents/plan.md' });
    expect(place.settings().agents().trust).toMatchObject([{ state: 'changed' }]);
  });

  it('of a workspace are measured against the limits of the configuration', () => {
    using place = createPlace();
    place.write('own/config.json', { limits: { maxTurns: 150 } });
    place.write('work/.retinue/agents/c.md', agentText('c', 'maxTurns: 100'));
    expect(place.settings().agents().trust).toEqual([]);
  });

  it('of the home are the user’s own where the home is the workspace', () => {
    using place = createPlace();
    place.write('home/.claude/agents/explore.md', agentText('explore'));
    const { list, trust } = place.settings({ workspace: '../home' }).agents();
    expect(trust).toEqual([]);
    expect(list.find(({ name }) => name === 'explore')?.source).toContain('.claude');
  });
});

describe('a file that is refused', () => {
  it.each(['own/agents/x.md', 'work/.retinue/agents/x.md'])('in %s is an error', (path) => {
    using place = createPlace();
    place.write(path, agentText('x', 'hooks: {}'));
    const settings = place.settings();
    expect(() => settings.agents()).toThrow(
      expect.objectContaining({ code: 'invalid_config', message: expect.stringMatching(/x\.md:4: `hooks`/) }),
    );
    expect(() => catalogOf(settings).list()).toThrow(/x\.md:4/);
  });

  it('for Claude Code stops nobody else, and its name is not that of another', () => {
    using place = createPlace();
    place.write('home/.claude/agents/explore.md', agentText('explore', 'hooks: {}'));
    place.write('work/.claude/agents/plan.md', agentText('plan', 'env: {}'));
    const { list, refused } = place.settings().agents();
    expect(list.map(({ name }) => name)).toEqual(['general', 'plan', 'research', 'review']);
    expect(refused.map(({ name }) => name)).toEqual(['explore', 'plan']);
  });

  it('names both files of a name', () => {
    using place = createPlace();
    place.write('work/.retinue/agents/x.md', agentText('x'));
    place.write('work/.claude/agents/y.md', agentText('x'));
    expect(() => place.settings().agents()).toThrow('the agent x is defined twice: in .retinue/agents/x.md and in .claude/agents/y.md');
  });

  it('because it cannot be read, or is too large', () => {
    using place = createPlace();
    mkdirSync(join(place.workspace, '.retinue/agents/dir.md'), { recursive: true });
    expect(() => place.settings().agents()).toThrow(/dir\.md is no file/);
    using other = createPlace();
    other.write('work/.claude/agents/big.md', agentText('big', 'x'.repeat(300_000)));
    expect(other.settings().agents().refused[0]?.problems[0]).toMatch(/big\.md has more than 262144 bytes/);
  });

  it('or leads out of the workspace', () => {
    using place = createPlace();
    const outside = place.write('home/secret.md', agentText('secret'));
    mkdirSync(join(place.workspace, '.retinue/agents'), { recursive: true });
    symlinkSync(outside, join(place.workspace, '.retinue/agents/a.md'));
    symlinkSync('/nowhere/at/all.md', join(place.workspace, '.retinue/agents/b.md'));
    const { list, warnings } = place.settings().agents();
    expect(list).toHaveLength(5);
    expect(warnings).toEqual([{ source: '.retinue/agents/a.md', message: 'not read: it is a link that leads out of the workspace' }]);
  });
});
