import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addTrust, listTrust, revokeTrust } from '../../src/main/trust.ts';
import { agentText, createPlace, type TestPlace } from './place.ts';

const at = '2026-01-02T03:04:05.000Z';
const wide = { limits: { maxCostUsd: 100 }, rules: ['allow bash:npm test *', 'deny write'], sandbox: 'off' };

/** Trusts everything that asks for it now. */
function trustAll(place: TestPlace): void {
  const settings = place.settings();
  addTrust(place.env, [...settings.trust, ...settings.agents().trust], at);
}

describe('a trusted configuration of a workspace', () => {
  it('is the third part of the owner’s list, and may widen', () => {
    using place = createPlace();
    const path = place.write('work/retinue.config.json', wide);
    const user = place.write('own/config.json', { rules: ['deny bash'] });
    expect(place.settings()).toMatchObject({ limits: { config: {} }, sandbox: { value: 'auto' } });
    trustAll(place);
    const settings = place.settings({ rules: ['allow write:docs/*'] });
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

  it('shows all that it asks for, and no password', () => {
    using place = createPlace();
    const baseURL = 'https://me:secret@host.example/v1';
    place.write('work/retinue.config.json', { ...wide, model: 'x/https://evil.example', providers: { a: { kind: 'openai', baseURL } } });
    const [item] = place.settings().trust;
    expect(item?.gives.map(({ what }) => what)).toEqual([
      'model = "x/https://evil.example"',
      'providers.a = {"kind":"openai","baseURL":"https://…@host.example/v1"}',
      'sandbox = "off"',
      'limits.maxCostUsd = 100',
      'rule allow bash:npm test *',
      'rule deny write',
    ]);
    expect(place.settings().model).toBeNull();
  });

  it('is not trusted any more when it changes, and says so', () => {
    using place = createPlace();
    const path = place.write('work/retinue.config.json', wide);
    trustAll(place);
    place.write('work/retinue.config.json', { ...wide, limits: { maxCostUsd: 101 } });
    const settings = place.settings();
    expect(settings.notices[0]).toBe(`not trusted: ${path} has changed since it was trusted; \`retinue trust\` shows what it asks for`);
    expect(settings).toMatchObject({ limits: { config: {} }, ownerRules: [], trust: [{ state: 'changed' }] });
    place.write('work/retinue.config.json', wide);
    expect(place.settings().notices).toEqual([]);
  });

  it('is not trusted at another place', () => {
    using place = createPlace();
    place.write('work/retinue.config.json', wide);
    trustAll(place);
    place.write('other/x', '');
    renameSync(join(place.workspace, 'retinue.config.json'), join(place.folder, 'other', 'retinue.config.json'));
    expect(place.settings({ workspace: '../other' }).trust).toMatchObject([{ state: 'untrusted' }]);
  });

  it('asks for nothing where it only narrows', () => {
    using place = createPlace();
    place.write('work/retinue.config.json', { model: 'a/b', limits: { maxTurns: 3 }, sandbox: 'required' });
    expect(place.settings()).toMatchObject({ trust: [], notices: [], limits: { config: { maxTurns: 3 } } });
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
  it.each(table)('%j: those that do nothing are named', (rules, idle) => {
    using place = createPlace();
    place.write('work/retinue.config.json', { rules });
    const { notices, narrowingRules } = place.settings();
    expect(notices.map((notice) => /`rules\.(\d+)`/.exec(notice)?.[1])).toEqual(idle.map(String));
    expect(narrowingRules).toEqual([{ owner: 'workspace retinue.config.json', rules }]);
  });
});

describe('the list of trusted files', () => {
  it('is for its owner alone, whole or not there', () => {
    using place = createPlace();
    place.write('work/retinue.config.json', wide);
    trustAll(place);
    const file = join(place.folder, 'xdg', 'retinue', 'trusted.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(file, '..'))).toEqual(['trusted.json']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      files: { [join(place.workspace, 'retinue.config.json')]: { hash: expect.stringMatching(/^[0-9a-f]{64}$/), at } },
    });
  });

  it('is told with how the files are now, and taken back by workspace', () => {
    using place = createPlace();
    const path = place.write('work/retinue.config.json', wide);
    const other = place.write('work2/retinue.config.json', wide);
    const agent = place.write('work/.claude/agents/explore.md', agentText('explore'));
    trustAll(place);
    addTrust(place.env, place.settings({ workspace: '../work2' }).trust, at);
    expect(listTrust(place.env).map(({ path: file, state }) => [file, state])).toEqual([
      [path, 'trusted'],
      [agent, 'trusted'],
      [other, 'trusted'],
    ]);
    place.write('work/retinue.config.json', '{}');
    expect(listTrust(place.env)[0]?.state).toBe('changed');
    expect(revokeTrust(place.env, place.workspace)).toEqual([path, agent]);
    expect(revokeTrust(place.env, place.workspace)).toEqual([]);
    expect(listTrust(place.env).map(({ path: file }) => file)).toEqual([other]);
  });

  it.each([
    ['no JSON', '{', 0o600, /is not JSON/],
    ['another form', '{"version":2}', 0o600, /is no list of trusted files/],
    ['a file that others may write', '{"version":1,"files":{}}', 0o666, /can be written by others/],
  ])('is nobody’s word where it is %s', (_, text, mode, said) => {
    using place = createPlace();
    place.write('work/retinue.config.json', wide);
    const file = place.write('own/trusted.json', text);
    chmodSync(file, mode);
    const settings = place.settings();
    expect(settings.notices[0]).toMatch(/^nothing is trusted: /);
    expect(settings.notices[0]).toMatch(said);
    expect(settings.sandbox.value).toBe('auto');
    expect(() => addTrust(place.env, settings.trust, at)).toThrow(said);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('is not made by looking', () => {
    using place = createPlace();
    place.write('work/retinue.config.json', wide);
    place.settings().agents();
    expect(listTrust(place.env)).toEqual([]);
    expect(existsSync(join(place.folder, 'xdg'))).toBe(false);
  });
});
