import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addTrust, listTrust, revokeTrust } from '../../src/config/trust.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const at = '2026-01-02T03:04:05.000Z';
const wide = { limits: { maxCostUsd: 100 }, rules: ['allow bash:npm test *', 'deny write'], sandbox: 'off' };

/** Trusts everything that asks for it now. */
function trustAll(fixture: TestWorkspace): void {
  const settings = fixture.settings();
  addTrust(fixture.env, [...settings.trust, ...settings.agents().trust], at);
}

describe('a trusted workspace configuration', () => {
  it('joins the owner’s rules and may widen settings', () => {
    using fixture = createTestWorkspace();
    const path = fixture.write('work/retinue.config.json', wide);
    const user = fixture.write('own/config.json', { rules: ['deny bash'] });
    expect(fixture.settings()).toMatchObject({ limits: { config: {} }, sandbox: { value: 'auto' } });
    trustAll(fixture);
    const settings = fixture.settings({ rules: ['allow write:docs/*'] });
    expect(settings.ownerRules).toEqual([
      { owner: user, rules: ['deny bash'] },
      { owner: path, rules: wide.rules },
      { owner: 'command line', rules: ['allow write:docs/*'] },
    ]);
    expect(settings).toMatchObject({
      narrowingRules: [],
      notices: [],
      limits: { config: { maxCostUsd: 100 } },
      sandbox: { value: 'off', from: path },
      trust: [{ path, state: 'trusted' }],
    });
  });

  it('shows everything that needs trust, without passwords', () => {
    using fixture = createTestWorkspace();
    const baseURL = 'https://me:secret@host.example/v1';
    fixture.write('work/retinue.config.json', { ...wide, model: 'x/https://evil.example', providers: { a: { kind: 'openai', baseURL } } });
    const [item] = fixture.settings().trust;
    expect(item?.gives.map(({ what }) => what)).toEqual([
      'model = "x/https://evil.example"',
      'providers.a = {"kind":"openai","baseURL":"https://me:…@host.example/v1"}',
      'sandbox = "off"',
      'limits.maxCostUsd = 100',
      'rule allow bash:npm test *',
      'rule deny write',
    ]);
    expect(fixture.settings().model).toBeNull();
  });

  it('loses trust when it changes, with a notice', () => {
    using fixture = createTestWorkspace();
    const path = fixture.write('work/retinue.config.json', wide);
    trustAll(fixture);
    fixture.write('work/retinue.config.json', { ...wide, limits: { maxCostUsd: 101 } });
    const settings = fixture.settings();
    expect(settings.notices[0]).toBe(`not trusted: ${path} has changed since you trusted it; \`retinue trust\` shows what it asks for`);
    expect(settings).toMatchObject({ limits: { config: {} }, ownerRules: [], trust: [{ state: 'changed' }] });
    fixture.write('work/retinue.config.json', wide);
    expect(fixture.settings().notices).toEqual([]);
  });

  it('is not trusted under another path', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', wide);
    trustAll(fixture);
    fixture.write('other/x', '');
    renameSync(join(fixture.workspace, 'retinue.config.json'), join(fixture.folder, 'other', 'retinue.config.json'));
    expect(fixture.settings({ workspace: '../other' }).trust).toMatchObject([{ state: 'untrusted' }]);
  });

  it('needs no trust if it only narrows', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', { limits: { maxTurns: 3 }, sandbox: 'required' });
    expect(fixture.settings()).toMatchObject({ trust: [], notices: [], limits: { config: { maxTurns: 3 } } });
  });
});

describe('rules of an untrusted workspace', () => {
  const table: [rules: string[], idle: number[]][] = [
    [['deny bash'], []],
    [['allow bash'], [0]],
    [['deny bash', 'allow bash:git *'], []],
    [['deny *', 'allow read'], []],
    [['deny web*', 'allow webfetch'], []],
    [['deny write', 'allow bash'], [1]],
    [['allow bash', 'deny bash:rm *'], [0]],
    [['ask bash'], []],
    [['ask bash', 'allow bash:ls *'], []],
  ];
  it.each(table)('%j: rules without effect are reported', (rules, idle) => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', { rules });
    const { notices, narrowingRules } = fixture.settings();
    expect(notices.map((notice) => /`rules\.(\d+)`/.exec(notice)?.[1])).toEqual(idle.map(String));
    expect(narrowingRules).toEqual([{ owner: 'workspace retinue.config.json', rules }]);
  });
});

describe('the list of trusted files', () => {
  it('is readable by its owner only and written atomically', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', wide);
    trustAll(fixture);
    const file = join(fixture.folder, 'xdg', 'retinue', 'trusted.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(file, '..'))).toEqual(['trusted.json']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      files: { [join(fixture.workspace, 'retinue.config.json')]: { hash: expect.stringMatching(/^[0-9a-f]{64}$/), at } },
    });
  });

  it('shows the current state of the files, and is revoked by workspace', () => {
    using fixture = createTestWorkspace();
    const path = fixture.write('work/retinue.config.json', wide);
    const other = fixture.write('work2/retinue.config.json', wide);
    const agent = fixture.write('work/.claude/agents/explore.md', agentText('explore'));
    trustAll(fixture);
    addTrust(fixture.env, fixture.settings({ workspace: '../work2' }).trust, at);
    expect(listTrust(fixture.env).map(({ path: file, state }) => [file, state])).toEqual([
      [path, 'trusted'],
      [agent, 'trusted'],
      [other, 'trusted'],
    ]);
    fixture.write('work/retinue.config.json', '{}');
    expect(listTrust(fixture.env)[0]?.state).toBe('changed');
    expect(revokeTrust(fixture.env, fixture.workspace)).toEqual([path, agent]);
    expect(revokeTrust(fixture.env, fixture.workspace)).toEqual([]);
    expect(listTrust(fixture.env).map(({ path: file }) => file)).toEqual([other]);
  });

  it.each([
    ['no JSON', '{', 0o600, /is not JSON/],
    ['another form', '{"version":2}', 0o600, /is not a list of trusted files/],
    ['a file that others may write', '{"version":1,"files":{}}', 0o666, /can be written by other users/],
  ])('trusts nothing if it is %s', (_, text, mode, said) => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', wide);
    const file = fixture.write('own/trusted.json', text);
    chmodSync(file, mode);
    const settings = fixture.settings();
    expect(settings.notices[0]).toMatch(/^nothing is trusted: /);
    expect(settings.notices[0]).toMatch(said);
    expect(settings.sandbox.value).toBe('auto');
    expect(() => addTrust(fixture.env, settings.trust, at)).toThrow(said);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('is not created by reading settings', () => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', wide);
    fixture.settings().agents();
    expect(listTrust(fixture.env)).toEqual([]);
    expect(existsSync(join(fixture.folder, 'xdg'))).toBe(false);
  });
});
