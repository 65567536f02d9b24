// Skills from the model's request to the text that it loads.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../src/config/explanation.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { createCli } from './support.ts';
import { createPlace } from './support-process.ts';

const skill = (more = '') => `---\nname: deploy\ndescription: How to deploy this project.\n${more}\n---\nFirst step: read the checklist.\n`;
const files = { '.claude/skills/deploy/SKILL.md': skill(), '.claude/skills/deploy/ref/list.md': 'Checklist of the skill.' };
const load = (args: object) => ({ calls: [{ tool: 'skill', args: { name: 'deploy', ...args } }] });
const results = (facts: Fact[]) =>
  facts.flatMap(({ type, data }) => (type === 'tool.finished' ? [data as { status: string; output: string; taint: string[] }] : []));

/** The results of skill calls with these arguments. */
async function call(calls: object[], options: Parameters<typeof createCli>[0] = {}, argv: string[] = []) {
  using cli = createCli({ files, runs: [{ steps: [...calls.map(load), { text: 'done' }] }], ...options });
  const { code, stderr } = await cli.run(['run', 'x', ...argv]);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return results(await cli.facts());
}

describe('a skill', () => {
  it('is offered to the provider by name and description, and loaded on demand', async () => {
    const server = await startProviderServer({ answer: [{ calls: [{ tool: 'skill', args: { name: 'deploy' } }] }, { text: 'done' }] });
    using place = createPlace(
      { runs: [{ steps: [{ text: 'not used' }] }] },
      { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: server.url, RETINUE_MODEL: 'anthropic/claude-sonnet-4-5' },
    );
    const file = join(place.folder, '.agents/skills/deploy/SKILL.md');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, skill('allowed-tools: Bash(*)'));
    const run = await place.run('run', 'x');
    expect([run.code, run.err]).toEqual([0, expect.any(String)]);
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('- deploy: How to deploy this project.');
    expect(first).not.toContain('First step');
    expect(second).toContain('First step: read the checklist.');
    await server.close();
  });

  it('shows its text without the front matter, and its other files', async () => {
    const [text, list] = await call([{}, { file: 'ref/list.md' }]);
    expect(text).toMatchObject({ status: 'ok', taint: ['untrusted-file'] });
    expect(text?.output).toBe('First step: read the checklist.\n\n[Further files, for the parameter `file`: ref/list.md]');
    expect(list).toMatchObject({ status: 'ok', output: 'Checklist of the skill.' });
  });

  it.each([[['--host', 'process']], [['--worktree']]])('is loaded with %j too', async (argv) => {
    const [text] = await call([{}], {}, argv);
    expect(text?.output).toContain('First step: read the checklist.');
  });

  it('without any, there is no such tool', async () => {
    using cli = createCli({ runs: [{ steps: [load({}), { text: 'done' }] }] });
    await cli.run(['run', 'x']);
    expect(results(await cli.facts())[0]).toMatchObject({ status: 'error', output: expect.stringMatching(/skill/) });
    expect((await cli.json<Explanation>('agents', 'explain', 'general')).tools.leftOut.map(({ tool }) => tool)).not.toContain('skill');
  });

  it('grants nothing with allowed-tools', async () => {
    const grants = { ...files, '.claude/skills/deploy/SKILL.md': skill('allowed-tools: Bash(*), Write') };
    const steps = [
      load({}),
      {
        calls: [
          { tool: 'write', args: { path: 'a', content: 'b' } },
          { tool: 'bash', args: { command: 'true' } },
        ],
      },
      { text: 'done' },
    ];
    using cli = createCli({ files: grants, runs: [{ steps }], config: { rules: ['deny write', 'deny bash'] } });
    await cli.run(['run', 'x', '--deny', 'write', '--deny', 'bash']);
    const [loaded, ...others] = results(await cli.facts());
    expect(loaded?.status).toBe('ok');
    for (const { status } of others) expect(status).not.toBe('ok');
    expect((await cli.run(['agents'])).stdout).toMatch(/^deploy +\.claude\/skills\/deploy\/SKILL\.md +allowed-tools +How to deploy/m);
  });

  it.each<[string, string[]]>([
    ['deny skill', ['--deny', 'skill:deploy']],
    ['deny read of its folder', ['--deny', 'read:.claude/skills/*']],
  ])('%s: the rules of the run decide', async (_, argv) => {
    const [result] = await call([{}], {}, argv);
    expect(result).toMatchObject({ status: 'denied' });
    expect(result?.output).not.toContain('First step');
  });

  it.each(['../../../secret.txt', '/etc/passwd', 'link.txt', 'ref/../../other/SKILL.md', 'up/secret.txt', '\0'])(
    'opens nothing outside its folder (%j)',
    async (file) => {
      using cli = createCli({
        files: { ...files, 'secret.txt': 'SECRET', '.claude/skills/other/SKILL.md': skill().replaceAll('deploy', 'other') },
        runs: [{ steps: [load({ file }), { text: 'done' }] }],
      });
      symlinkSync(join(cli.folder, 'secret.txt'), join(cli.folder, '.claude/skills/deploy/link.txt'));
      symlinkSync(cli.folder, join(cli.folder, '.claude/skills/deploy/up'));
      await cli.run(['run', 'x']);
      const [result] = results(await cli.facts());
      expect(result?.status).toBe('error');
      expect(result?.output).not.toMatch(/SECRET|root:|First step/);
    },
  );

  it('of the user is read in its own folder and nowhere else, whatever other tools may read', async () => {
    using cli = createCli({
      runs: [
        {
          steps: [
            load({}),
            load({ file: '../../settings.json' }),
            { calls: [{ tool: 'read', args: { path: '../home/.claude/skills/deploy/SKILL.md' } }] },
            { text: 'done' },
          ],
        },
      ],
    });
    cli.write('../home/.claude/skills/deploy/SKILL.md', skill());
    cli.write('../home/.claude/settings.json', 'SECRET');
    await cli.run(['run', 'x']);
    const [own, outside, other] = results(await cli.facts());
    expect(own).toMatchObject({ status: 'ok', output: 'First step: read the checklist.', taint: [] });
    expect(outside?.status).toBe('error');
    expect(outside?.output).not.toContain('SECRET');
    expect(other?.status).not.toBe('ok');
  });

  it('is for agents that may use the tool, and `skills` names those to load first', async () => {
    const agent = (name: string, more: string) => `---\nname: ${name}\ndescription: d\n${more}\n---\nWork.\n`;
    using cli = createCli({
      files: {
        ...files,
        '.claude/agents/a.md': agent('a', 'tools: Read'),
        '.claude/agents/b.md': agent('b', 'tools: Read\nskills: [deploy]'),
        '.claude/agents/c.md': agent('c', 'tools: Skill(other)'),
      },
    });
    const explain = (name: string) => cli.json<Explanation>('agents', 'explain', name);
    expect((await explain('a')).skills).toEqual([]);
    expect((await explain('b')).skills).toEqual([{ name: 'deploy', source: '.claude/skills/deploy/SKILL.md' }]);
    expect((await explain('b')).prompt).toContain('load with the tool `skill`: deploy');
    expect((await explain('c')).rulesets.flatMap(({ rules }) => rules.map(({ rule }) => rule))).toEqual(
      expect.arrayContaining(['deny skill', 'allow skill:other']),
    );
  });
});
