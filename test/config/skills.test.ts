// Skills in real folders.
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestWorkspace } from '../support/workspace.ts';

const skill = (name: string, more = '') => `---\nname: ${name}\ndescription: Helps with ${name}.\n${more}\n---\nSteps for ${name}.\n`;

describe('skills', () => {
  it.each([
    ['work/.agents/skills/a/SKILL.md', '.agents/skills/a'],
    ['work/.claude/skills/a/SKILL.md', '.claude/skills/a'],
    ['work/.opencode/skills/a/SKILL.md', '.opencode/skills/a'],
    ['work/.opencode/skill/a/SKILL.md', '.opencode/skill/a'],
    ['work/.gemini/skills/a/SKILL.md', '.gemini/skills/a'],
    ['work/.codex/skills/a/SKILL.md', '.codex/skills/a'],
    ['work/.github/skills/a/SKILL.md', '.github/skills/a'],
    ['home/.agents/skills/a/SKILL.md', '/home/.agents/skills/a'],
    ['home/.claude/skills/a/SKILL.md', '/home/.claude/skills/a'],
    ['home/.gemini/skills/a/SKILL.md', '/home/.gemini/skills/a'],
    ['home/.codex/skills/a/SKILL.md', '/home/.codex/skills/a'],
    ['home/.copilot/skills/a/SKILL.md', '/home/.copilot/skills/a'],
    ['xdg/opencode/skills/a/SKILL.md', '/xdg/opencode/skills/a'],
  ])('%s is found', (path, folder) => {
    using fixture = createTestWorkspace();
    fixture.write(path, skill('a'));
    const [found] = fixture.settings().skills().list;
    expect(found).toMatchObject({ name: 'a', description: 'Helps with a.', isInWorkspace: path.startsWith('work/') });
    expect(found?.folder.replace(fixture.folder, '')).toBe(folder);
  });

  it('of yours hide those of the workspace, and folders have an order', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.claude/skills/a/SKILL.md', skill('a'));
    fixture.write('work/.agents/skills/a/SKILL.md', skill('a'));
    expect(fixture.settings().skills()).toMatchObject({
      list: [{ source: '.agents/skills/a/SKILL.md' }],
      hidden: [{ name: 'a', source: '.claude/skills/a/SKILL.md', by: '.agents/skills/a/SKILL.md' }],
    });
    const own = fixture.write('home/.claude/skills/a/SKILL.md', skill('a'));
    expect(fixture.settings().skills()).toMatchObject({ list: [{ source: own }], hidden: [{ by: own }, { by: own }] });
  });

  it.each([
    ['allowed-tools: Bash(*) Write', ['`allowed-tools`']],
    ['disallowed-tools: Read', ['`disallowed-tools`']],
    ['hooks: {PreToolUse: []}', ['`hooks`']],
    ['model: opus\neffort: high', ['`model`', '`effort`']],
    ['context: fork\nagent: Explore', ['`context`', '`agent`']],
    ['paths: src/*\nshell: bash', ['`paths`', '`shell`']],
    ['arguments: [a]\nargument-hint: x\nuser-invocable: false', ['`arguments`', '`argument-hint`', '`user-invocable`']],
    ['compatibility: linux\nlicense: MIT\nmetadata: {a: b}', ['`compatibility`']],
    ['__proto__: {a: b}', ['`__proto__`']],
  ])('%s is left out', (lines, what) => {
    using fixture = createTestWorkspace();
    fixture.write('work/.claude/skills/a/SKILL.md', skill('a', lines));
    const { list, leftOut } = fixture.settings().skills();
    expect([list.length, leftOut.map((each) => each.what)]).toEqual([1, what]);
  });

  it.each([
    ['# no front matter', /a skill begins with front matter/],
    [skill('../up'), /`name` must be/],
    [skill('a').replace(/description.*\n/, ''), /`description` is missing/],
    [skill('a', 'x: &y 1\nz: *y'), /aliases are not allowed/],
    [skill('a', 'x'.repeat(300_000)), /larger than/],
    [skill('a', 'disable-model-invocation: true'), /no model may load it/],
  ])('an unusable one is not offered (%#)', (text, said) => {
    using fixture = createTestWorkspace();
    fixture.write('work/.claude/skills/a/SKILL.md', text);
    const { list, warnings } = fixture.settings().skills();
    expect(list).toEqual([]);
    expect(warnings[0]?.message).toMatch(said);
  });

  it('do not come through links out of the workspace', () => {
    using fixture = createTestWorkspace();
    const outside = fixture.write('home/private/a/SKILL.md', skill('a'));
    mkdirSync(join(fixture.workspace, '.claude/skills/b'), { recursive: true });
    symlinkSync(join(outside, '..'), join(fixture.workspace, '.claude/skills/a'));
    symlinkSync(outside, join(fixture.workspace, '.claude/skills/b/SKILL.md'));
    const { list, warnings } = fixture.settings().skills();
    expect([list.length, warnings.length]).toEqual([0, 2]);
  });

  it('may be linked inside the workspace', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/shared/a/SKILL.md', skill('a'));
    mkdirSync(join(fixture.workspace, '.agents/skills'), { recursive: true });
    symlinkSync('../../shared/a', join(fixture.workspace, '.agents/skills/a'));
    expect(fixture.settings().skills().list).toMatchObject([{ name: 'a', folder: '.agents/skills/a' }]);
  });
});
