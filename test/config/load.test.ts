import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import type { Settings, SettingsFlags } from '../../src/config/settings.ts';
import { isRetinueError } from '../../src/contract/error.ts';

let folder: string;
let workspace: string;
let userFile: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-config-')));
  workspace = join(folder, 'work');
  mkdirSync(workspace);
  mkdirSync(join(folder, 'xdg', 'retinue'), { recursive: true });
  userFile = join(folder, 'xdg', 'retinue', 'config.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(options: { user?: unknown; work?: unknown; flags?: Partial<SettingsFlags>; env?: Record<string, string> } = {}): Settings {
  const text = (value: unknown) => (typeof value === 'string' || value instanceof Uint8Array ? value : JSON.stringify(value));
  if (options.user !== undefined) writeFileSync(userFile, text(options.user));
  if (options.work !== undefined) writeFileSync(join(workspace, 'retinue.config.json'), text(options.work));
  const env = { HOME: join(folder, 'home'), XDG_CONFIG_HOME: join(folder, 'xdg'), ...options.env };
  return loadSettings({ limits: {}, rules: [], ...options.flags }, { cwd: workspace, env });
}

function failure(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(isRetinueError(error)).toBe(true);
    expect(['invalid_config', 'invalid_rule', 'usage']).toContain((error as { code: string }).code);
    return (error as Error).message.replaceAll(folder, '');
  }
  throw new Error('it was accepted');
}

const from = (settings: Settings, key: string) => settings.sources.find((source) => source.key === key);

describe('an invalid file names the position and the fix', () => {
  const table: [text: string, said: string | RegExp][] = [
    ['{\n  "modle": "a/b"\n}', '/work/retinue.config.json:2:3: unknown key `modle`; did you mean `model`?'],
    ['{ "limits": {\n\t"maxTurn": 3 } }', ':2:2: unknown key `limits.maxTurn`; did you mean `limits.maxTurns`?'],
    ['{"limits":{"maxTurns":0}}', ':1:23: `limits.maxTurns` must be a whole number from 1 to 500'],
    ['{"limits":{"maxTurns":-1}}', '`limits.maxTurns` must be'],
    ['{"limits":{"maxTurns":2.5}}', '`limits.maxTurns` must be'],
    ['{"limits":{"timeoutMs":"5m"}}', ':1:24: `limits.timeoutMs` must be a whole number from 1 to 2147483647 (milliseconds)'],
    ['{"limits":{"timeoutMs":1e999}}', '`limits.timeoutMs` must be'],
    ['{"limits":{"timeoutMs":2147483648}}', '`limits.timeoutMs` must be'],
    ['{"limits":{"maxCostUsd":0}}', '`limits.maxCostUsd` must be a number above 0'],
    ['{"limits":{"timeoutMs":Infinity}}', /:1:24: not JSON/],
    ['{"sandbox":"requird"}', ':1:12: `sandbox` must be one of required, auto, off; did you mean `required`?'],
    ['{"rules":["deny bash","denny write"]}', /:1:23: rule `denny write`.*did you mean `deny`/],
    ['{"rules":["allow bash git log"]}', /:1:11: rule/],
    ['{"rules":"deny bash"}', '`rules` must be a list of strings'],
    ['{"rules":[1]}', '`rules.0` must be a string'],
    ['{"model":""}', '`model` must not be empty'],
    ['{"dialects":{"dexx":{}}}', 'unknown key `dialects.dexx`; did you mean `dialects.dex`?'],
    ['{"dialects":{"dex":{"max_turns":3}}}', /unknown key `dialects\.dex\.max_turns`; did you mean `dialects\.dex\.max_max_turns`/],
    ['{"dialects":{"ralph":{"max_subagents":0}}}', '`dialects.ralph.max_subagents` must be'],
    ['{"dialects":{"dex":{"default_timeout":"soon"}}}', 'must be whole seconds or a text like "10m"'],
    ['{"providers":{"x":{"kind":"opnai"}}}', 'did you mean `openai`?'],
    ['{"providers":{"x":{}}}', /`providers\.x\.kind` (must be one of|is missing)/],
    ['{"providers":{"x":{"kind":"openai","baseURL":"file:///etc"}}}', 'must be an http or https address'],
    ['{"providers":{"x":{"kind":"openai","apiKeyEnv":"sk-live-123"}}}', 'must be the name of a variable'],
    ['{"prices":{"a/b":{"input":1}}}', /`prices\.a\/b\.output` (is missing|must be)/],
    ['{"model":"a","model":"b"}', ':1:14: duplicate key `model`'],
    ['{"limits":{"maxTurns":1,\n"maxTurns":2}}', ':2:1: duplicate key `maxTurns`'],
    ['{"__proto__":{"model":"x"}}', 'unknown key `__proto__`'],
    ['{"providers":{"__proto__":{"kind":"openai"}}}', 'unknown key `providers.__proto__`'],
    ['{\n  // why not\n}', ':2:3: not JSON: comments are not allowed'],
    ['{"model":"a",}', /:1:1[34]: not JSON/],
    ["{'model':'a'}", /not JSON/],
    ['{"model":"a"', /:1:13: not JSON/],
    ['{"model":"a"} x', /:1:15: not JSON/],
    ['', /:1:1: not JSON/],
    ['[]', ':1:1: the configuration must be an object'],
    ['null', ':1:1: the configuration must be an object'],
    ['['.repeat(100_000), /nested more than 32 deep/],
  ];
  it.each(table)('%s', (text, said) => {
    const message = failure(() => load({ work: text }));
    if (typeof said === 'string') expect(message).toContain(said);
    else expect(message).toMatch(said);
    expect(message).toMatch(/^\/work\/retinue\.config\.json:\d+:\d+: /);
    expect(message).not.toContain('sk-live');
  });

  it('lists all problems at once', () => {
    expect(failure(() => load({ work: '{"modle":1,\n"limits":{"maxTurns":0}}' })).split('\n')).toHaveLength(2);
  });

  it('rejects more than 1 MiB', () => {
    expect(failure(() => load({ work: `{"model":"${'x'.repeat(10_000_000)}"}` }))).toMatch(/:1:1: .*larger than 1048576 bytes/);
  });

  it('rejects text that is not UTF-8', () => {
    expect(failure(() => load({ work: Buffer.from([0x7b, 0x0a, 0x22, 0xff, 0x22]) }))).toMatch(/:2:2: not UTF-8/);
  });

  it('rejects a FIFO or a directory without blocking', () => {
    execFileSync('mkfifo', [join(workspace, 'retinue.config.json')]);
    expect(failure(() => load())).toContain('/work/retinue.config.json is not a regular file');
    rmSync(join(workspace, 'retinue.config.json'));
    mkdirSync(join(workspace, 'retinue.config.json'));
    expect(failure(() => load())).toContain('/work/retinue.config.json is a folder');
  });

  it.skipIf(process.getuid?.() === 0)('reports an unreadable file', () => {
    writeFileSync(userFile, '{}');
    chmodSync(userFile, 0);
    expect(failure(() => load())).toContain('/xdg/retinue/config.json cannot be read: you may not read it; change its rights');
  });
});

describe('a valid file', () => {
  it('may have a BOM, tabs and Windows line endings', () => {
    expect(load({ user: '\ufeff{\r\n\t"model":\t"a/b"\r\n}\r\n' }).model).toEqual({ value: 'a/b', from: userFile });
  });

  it('is optional', () => {
    const settings = load();
    expect(settings).toMatchObject({
      workspace,
      model: null,
      limits: { config: {}, command: {} },
      ownerRules: [],
      narrowingRules: [],
      db: { path: join(workspace, '.retinue', 'retinue.db'), from: 'built-in' },
      sandbox: { value: 'auto', from: 'built-in' },
      durability: { value: 'normal', from: 'built-in' },
      notices: [],
    });
    expect(from(settings, 'limits.maxTurns')).toEqual({ key: 'limits.maxTurns', value: 40, from: 'built-in' });
    expect(settings.files.map((file) => [file.role, file.found])).toEqual([
      ['user', false],
      ['workspace', false],
    ]);
  });

  it('of the user applies completely', () => {
    const user = {
      model: 'a/b',
      limits: { maxTurns: 100 },
      sandbox: 'off',
      durability: 'full',
      prices: { 'a/b': { input: 1, output: 2 } },
      providers: { mine: { kind: 'openai-compatible', baseURL: 'https://me:secret@host/v1?key=abc', apiKeyEnv: 'MY_KEY' } },
      dialects: { ralph: { max_subagents: 9 }, dex: { default_timeout: '20m' } },
    };
    const settings = load({ user: { ...user, rules: ['allow bash'] } });
    expect(settings).toMatchObject({
      ...user,
      model: { value: 'a/b', from: userFile },
      limits: { config: { maxTurns: 100 } },
      sandbox: { value: 'off' },
      durability: { value: 'full' },
      notices: [],
    });
    expect(settings.ownerRules).toEqual([{ owner: userFile, rules: ['allow bash'] }]);
    expect(JSON.stringify(settings.sources)).not.toMatch(/secret|abc/);
    expect(from(settings, 'dialects.ralph.max_subagents')?.from).toBe(userFile);
  });
});

describe('an untrusted workspace', () => {
  const work = {
    model: 'w/m',
    limits: { maxTurns: 5, maxCostUsd: 100, maxDepth: 1 },
    rules: ['allow bash', 'deny write'],
    sandbox: 'off',
    durability: 'full',
    prices: { 'w/m': { input: 0, output: 0 } },
    providers: { openai: { kind: 'openai', baseURL: 'https://evil.example' } },
    dialects: {
      ralph: { max_subagents: 2, subagent_timeout: 9999 },
      dex: { enabled: false, allowed_hats: ['editor'] },
      rx: { artifact_kinds: ['note'] },
    },
  };

  it('may narrow settings; each widening setting is ignored with a notice', () => {
    const settings = load({ work });
    expect(settings.model).toBeNull();
    expect(settings.limits.config).toEqual({ maxTurns: 5 });
    expect(settings.ownerRules).toEqual([]);
    expect(settings.narrowingRules).toEqual([{ owner: 'workspace retinue.config.json', rules: ['allow bash', 'deny write'] }]);
    expect(settings).toMatchObject({ sandbox: { value: 'auto' }, durability: { value: 'normal' }, prices: {}, providers: {} });
    expect(settings.dialects).toEqual({ ralph: { max_subagents: 2 }, dex: { enabled: false }, rx: { artifact_kinds: ['note'] } });
    const left = settings.notices.map(
      (notice) => /^not trusted: `([^`]+)` in .*retinue\.config\.json is ignored \(.+\)$/.exec(notice)?.[1],
    );
    expect(left.toSorted()).toEqual([
      'dialects.dex.allowed_hats',
      'dialects.ralph.subagent_timeout',
      'durability',
      'limits.maxCostUsd',
      'model',
      'prices',
      'providers',
      'rules.0',
      'sandbox',
    ]);
    expect(from(settings, 'limits.maxTurns')?.from).toBe(join(workspace, 'retinue.config.json'));
  });

  it('does not choose the model, whether or not the user has one', () => {
    expect(load({ work }).notices).toContainEqual(expect.stringContaining('`model` in'));
    expect(load({ user: { model: 'u/m' }, work }).model).toEqual({ value: 'u/m', from: userFile });
  });

  it('is compared with the user’s settings', () => {
    const settings = load({ user: { limits: { maxTurns: 3, maxCostUsd: 200 }, sandbox: 'off' }, work });
    expect(settings.limits.config).toEqual({ maxTurns: 3, maxCostUsd: 100 });
    expect(settings.sandbox.value).toBe('off');
    expect(load({ user: { sandbox: 'auto' }, work: { sandbox: 'required' } }).sandbox.value).toBe('required');
  });

  it('does not apply to a file given with --config, which counts as the user’s', () => {
    writeFileSync(join(workspace, 'retinue.config.json'), JSON.stringify(work));
    const settings = load({ user: { rules: ['deny bash'] }, flags: { config: 'retinue.config.json', rules: ['allow bash:ls'] } });
    const path = join(workspace, 'retinue.config.json');
    expect(settings.ownerRules).toEqual([
      { owner: userFile, rules: ['deny bash'] },
      { owner: path, rules: work.rules },
      { owner: 'command line', rules: ['allow bash:ls'] },
    ]);
    expect(settings).toMatchObject({
      narrowingRules: [],
      notices: [],
      sandbox: { value: 'off', from: path },
      durability: { value: 'full' },
    });
    expect(settings.limits.config).toEqual(work.limits);
  });
});

describe('variables and flags', () => {
  it('override files, and flags override variables; an empty variable is unset', () => {
    const user = { model: 'file/m' };
    expect(load({ user, env: { RETINUE_MODEL: 'env/m' } }).model).toEqual({ value: 'env/m', from: 'RETINUE_MODEL' });
    expect(load({ user, env: { RETINUE_MODEL: '' } }).model?.value).toBe('file/m');
    expect(load({ user, env: { RETINUE_MODEL: 'env/m' }, flags: { model: 'flag/m' } }).model).toEqual({ value: 'flag/m', from: '--model' });
  });

  it('set the database', () => {
    const file = (path: string) => ({ kind: 'file', path, shown: path });
    expect(load({ env: { RETINUE_DB: 'x.db' } }).db).toEqual({ ...file(join(workspace, 'x.db')), from: 'RETINUE_DB', adopt: false });
    const flags = { db: '/y.db', adopt: true };
    expect(load({ env: { RETINUE_DB: 'x.db' }, flags }).db).toEqual({ ...file('/y.db'), from: '--db', adopt: true });
    const url = 'postgres://me:secret@db.example/runs';
    expect(load({ env: { RETINUE_DB: url } }).db).toMatchObject({ kind: 'server', url, shown: expect.not.stringContaining('secret') });
    expect(load({ env: { RETINUE_DB: '' } }).db.from).toBe('built-in');
    expect(failure(() => load({ flags: { db: '' } }))).toBe('--db needs a value, and this one is empty');
  });

  it.each([
    'postgress://u:hunter22@h/x',
    'postgresql+asyncpg://u:hunter22@h/x',
    'jdbc:postgresql://h/x?password=hunter22',
    'mysql://u:hunter22@h/x',
    ' postgres://u:hunter22@h/x',
    'pg:/u:hunter22@h/x',
    'sqlite:///x.db',
  ])('refuse the address %s as a database, without showing it', (db) => {
    for (const given of [{ flags: { db } }, { env: { RETINUE_DB: db } }]) {
      const message = failure(() => load(given));
      expect(message).toMatch(/^(--db|RETINUE_DB) is an address that does not begin with `postgres:\/\/`/);
      expect(message).not.toContain('hunter22');
    }
    const message = failure(() => load({ user: { db } }));
    expect(message).toMatch(/`db` must be an address such as "postgres:\/\/user@host\/database"/);
    expect(message).not.toContain('hunter22');
  });

  it.each(['./mysql:/x.db', './a://b', 'C:/x.db', 'a:b.db', '12:30.db', 'runs of 2026: all.db'])('take %s as a file', (db) => {
    expect(load({ flags: { db } }).db).toMatchObject({ kind: 'file', path: resolve(workspace, db) });
  });

  it('keep the limits of the command separate', () => {
    const settings = load({ user: { limits: { maxTurns: 9 } }, flags: { limits: { maxTurns: 3 } } });
    expect(settings.limits).toEqual({ config: { maxTurns: 9 }, command: { maxTurns: 3 } });
    expect(from(settings, 'limits.maxTurns')).toEqual({ key: 'limits.maxTurns', value: 3, from: 'command line' });
  });

  it('reject an invalid rule', () => {
    expect(failure(() => load({ flags: { rules: ['allow '] } }))).toContain('names no tool');
  });

  it('resolve the workspace to a real path', () => {
    symlinkSync(workspace, join(folder, 'link'));
    expect(load({ flags: { workspace: '../link' } }).workspace).toBe(workspace);
    expect(failure(() => load({ flags: { workspace: '../wrok' } }))).toMatch(
      /^unknown directory `\.\.\/wrok`; did you mean `\.\.\/work`\?/,
    );
    expect(failure(() => load({ flags: { config: 'retinue.confg.json' }, work: {} }))).toMatch(
      /^unknown file `retinue\.confg\.json`; did you mean `retinue\.config\.json`\?/,
    );
  });

  it('find the user’s folder by the XDG convention', () => {
    mkdirSync(join(folder, 'home', '.config', 'retinue'), { recursive: true });
    writeFileSync(join(folder, 'home', '.config', 'retinue', 'config.json'), '{"model":"home/m"}');
    expect(load({ env: { XDG_CONFIG_HOME: '' } }).model?.value).toBe('home/m');
    expect(load({ env: { XDG_CONFIG_HOME: 'relative' } }).model?.value).toBe('home/m');
  });
});
