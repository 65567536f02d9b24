// Agent files and trust as a run meets them: what `agents explain` says is what the run's grant holds.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../src/config/explanation.ts';
import type { Grant } from '../../src/contract/grant.ts';
import { createPlace, type Place } from './support-process.ts';

const script = { runs: [{ times: 'any', steps: [{ text: 'ok' }] }] };

function write({ folder }: Place, path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const agent = (name: string, lines: string) => `---\nname: ${name}\ndescription: Does ${name}.\n${lines}\n---\nYou are ${name}.\n`;

async function grantOf(place: Place, name: string): Promise<Grant> {
  const run = await place.run('run', '--agent', name, '--json', 'work');
  expect(run.code, run.err).toBe(0);
  return JSON.parse((await place.run('show', 'last', '--json')).out).grant;
}

async function explained(place: Place, name: string): Promise<Explanation> {
  return JSON.parse((await place.run('agents', 'explain', name, '--json')).out);
}

describe('an agent defined in a file', () => {
  it.each(['tools: Read, Bash(git log:*), Task\nmaxTurns: 3', 'tools: []', 'disallowedTools: Write', 'permissionMode: plan', ''])(
    '%j gets what explain says',
    async (lines) => {
      using place = createPlace(script);
      write(place, '.retinue/agents/mine.md', agent('mine', lines));
      write(place, 'retinue.config.json', '{"rules":["deny read:secret/*"],"limits":{"maxTokens":99999}}');
      const [grant, found] = [await grantOf(place, 'mine'), await explained(place, 'mine')];
      expect(found.tools.offered.map(({ tool }) => tool)).toEqual(grant.tools);
      if (lines === 'tools: []') expect(grant.tools).toEqual([]);
      const values = (limits: Record<string, { value: number | null }>) => Object.entries(limits).map(([name, { value }]) => [name, value]);
      // The scripted model has no price, so this one limit falls away when it runs.
      const { maxCostUsd: _, ...limits } = found.limits;
      const { maxCostUsd: __, ...granted } = grant.limits;
      expect(values(limits)).toEqual(values(granted));
      expect(found.rulesets.map(({ owner, rules }) => [owner, rules.length])).toEqual(
        grant.rulesets.map(({ owner, rules }) => [owner, rules.length]),
      );
    },
  );

  it.each([
    ['permissionMode: bypassPermissions', /bad\.md:4: `permissionMode: bypassPermissions` is refused/],
    ['runs: gemini', /bad\.md:4: `runs`: .*gemini/],
  ])('an invalid file (%s) is listed with its problem and refuses only its own agent', async (line, said) => {
    using place = createPlace(script);
    write(place, '.config/retinue/agents/bad.md', agent('bad', line));
    const listed = await place.run('agents');
    expect([listed.code, listed.out]).toEqual([2, expect.stringMatching(/^general /m)]);
    expect(listed.err).toMatch(said);
    for (const args of [
      ['agents', 'explain', 'bad'],
      ['run', '--agent', 'bad', 'work'],
    ]) {
      const { code, err, out } = await place.run(...args);
      expect([args, code, out]).toEqual([args, 2, '']);
      expect(err).toMatch(said);
    }
    expect((await place.run('agents', 'explain', 'general')).code).toBe(0);
    const run = await place.run('run', 'work');
    expect(run.code, run.err).toBe(0);
    expect(run.err).toMatch(said);
    expect((await place.run('doctor')).out).toMatch(said);
  });
});

describe('trust', () => {
  it('gives the rules and limits of the workspace full effect until the file changes', async () => {
    using place = createPlace(script);
    const config = { rules: ['allow bash:npm test *'], limits: { maxTurns: 99 } };
    write(place, 'retinue.config.json', JSON.stringify(config));
    expect((await grantOf(place, 'general')).limits.maxTurns).toEqual({ value: 40, from: 'default' });
    expect((await place.run('trust')).code).toBe(2);
    const trusted = await place.run('trust', '--yes', '--json');
    expect([trusted.code, JSON.parse(trusted.out).trusted]).toEqual([0, true]);
    const grant = await grantOf(place, 'general');
    expect(grant.limits.maxTurns).toEqual({ value: 99, from: 'config' });
    expect(
      grant.rulesets
        .filter(({ kind }) => kind === 'owner')
        .flatMap(({ rules }) => rules)
        .at(-1),
    ).toMatchObject({
      action: 'allow',
      tool: 'bash',
      pattern: 'npm test *',
      from: expect.stringContaining('retinue.config.json'),
    });
    expect(grant.rulesets.some(({ owner }) => owner.startsWith('workspace'))).toBe(false);
    write(place, 'retinue.config.json', JSON.stringify({ ...config, limits: { maxTurns: 100 } }));
    const { err } = await place.run('ps');
    expect(err).toContain('has changed since you trusted it');
    expect((await grantOf(place, 'general')).limits.maxTurns).toEqual({ value: 40, from: 'default' });
    expect((await place.run('trust', '--revoke')).code).toBe(0);
    expect(JSON.parse((await place.run('trust', '--list', '--json')).out)).toEqual([]);
  });
});
