// `retinue mcp install` with the real program and a temporary home folder. Existing settings of the client are kept.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mcpClients } from '../../src/config/mcp-install/clients.ts';
import { createPlace, type Place } from '../cli/support-process.ts';
import { bin } from './support.ts';

const place = (env: Record<string, string> = {}) =>
  createPlace({ runs: [{ steps: [] }] }, { XDG_CONFIG_HOME: '', CODEX_HOME: '', RETINUE_MODEL: '', ...env });
const files: Record<(typeof mcpClients)[number], [user: string, project: string]> = {
  'claude-code': ['.claude.json', '.mcp.json'],
  codex: ['.codex/config.toml', '.codex/config.toml'],
  cursor: ['.cursor/mcp.json', '.cursor/mcp.json'],
  vscode: [
    process.platform === 'darwin' ? 'Library/Application Support/Code/User/mcp.json' : '.config/Code/User/mcp.json',
    '.vscode/mcp.json',
  ],
  zed: ['.config/zed/settings.json', '.zed/settings.json'],
  opencode: ['.config/opencode/opencode.json', 'opencode.json'],
};
const server = { command: process.execPath, args: [bin, 'mcp'] };

function put({ folder }: Place, name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const install = (at: Place, ...args: string[]) => at.run('mcp', 'install', ...args);

describe('install', () => {
  it.each(mcpClients)('writes the file of %s, shows it first, and changes nothing the second time', async (client) => {
    using at = place();
    const file = join(at.folder, files[client][0]);
    const asked = await install(at, client);
    expect([asked.code, existsSync(file)]).toEqual([2, false]);
    expect(asked.out).toContain(file);
    expect(asked.err).toContain('--yes');
    const done = await install(at, client, '--yes');
    expect([done.code, done.err]).toEqual([0, expect.stringContaining('written')]);
    const text = readFileSync(file, 'utf8');
    expect(done.out).toContain(text);
    expect(statSync(file).mode & 0o077).toBe(0);
    const again = await install(at, client, '--yes');
    expect([again.code, again.err, readFileSync(file, 'utf8')]).toEqual([0, expect.stringContaining('already has this entry'), text]);
    expect(readdirSync(dirname(file)).filter((name) => name.includes('before-retinue'))).toEqual([]);
  });

  it('writes the format of each client', async () => {
    using at = place();
    for (const client of mcpClients) await install(at, client, '--yes');
    const read = (client: keyof typeof files) => readFileSync(join(at.folder, files[client][0]), 'utf8');
    expect(JSON.parse(read('claude-code'))).toEqual({ mcpServers: { retinue: { type: 'stdio', ...server } } });
    expect(JSON.parse(read('cursor'))).toEqual({ mcpServers: { retinue: server } });
    expect(JSON.parse(read('vscode'))).toEqual({ servers: { retinue: { type: 'stdio', ...server } } });
    expect(JSON.parse(read('zed'))).toEqual({ context_servers: { retinue: { ...server, env: {} } } });
    expect(JSON.parse(read('opencode'))).toMatchObject({
      mcp: { retinue: { type: 'local', command: [server.command, ...server.args], enabled: true } },
    });
    expect(read('codex')).toBe(
      `[mcp_servers.retinue]\ncommand = ${JSON.stringify(server.command)}\nargs = [${server.args.map((each) => JSON.stringify(each)).join(', ')}]\nstartup_timeout_sec = 60\ntool_timeout_sec = 1800\n`,
    );
  });

  it.each(mcpClients)('with --project writes into the project of %s; --print only prints', async (client) => {
    using at = place();
    const project = join(at.folder, 'project');
    mkdirSync(project);
    const printed = await install(at, client, '--print', '--project', '-C', project);
    const file = join(project, files[client][1]);
    expect([printed.code, existsSync(file)]).toEqual([0, false]);
    await install(at, client, '--yes', '--project', '-C', project);
    expect(readFileSync(file, 'utf8')).toBe(printed.out);
  });

  it('puts other flags into the command of the server, and refuses wrong ones', async () => {
    using at = place();
    const flags = ['--dialect', 'native', '--model', 'a/b', '--allow', 'bash:npm test', '--timeout', '10m'];
    put(at, 'own.json', '{}');
    const { out } = await install(at, 'cursor', '--print', ...flags, '--config', 'own.json');
    expect(JSON.parse(out).mcpServers.retinue.args).toEqual([bin, 'mcp', ...flags, '--config', join(at.folder, 'own.json')]);
    for (const [args, expected] of [
      [['cursr'], /unknown client `cursr`; did you mean `cursor`\?/],
      [[], /the client is missing/],
      [['cursor', '--dialect', 'latin'], /unknown dialect `latin`/],
      [['cursor', '--timeout', 'soon'], /--timeout/],
    ] as const) {
      const { code, err } = await install(at, ...args);
      expect([code, err]).toEqual([2, expect.stringMatching(expected)]);
    }
  });
});

describe('the installed server', () => {
  it('is started once, from another folder, and its tools are reported', async () => {
    using at = place();
    const { code, err } = await install(at, 'cursor', '--yes', '--dialect', 'openfork');
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('tested: the server starts and offers 3 tools: task, task_status, task_cancel\n'),
    ]);
    expect(existsSync(join(at.folder, '.retinue'))).toBe(false);
    expect((await install(at, 'cursor', '--yes', '--dialect', 'openfork')).err).toContain('tested: the server starts');
  });

  it('that does not start is reported with its own message, and the command fails', async () => {
    using at = place();
    const { code, err } = await install(at, 'cursor', '--yes', '--host', 'process', '--allow', 'no such rule at all');
    expect([code, err]).toEqual([1, expect.stringMatching(/written[\s\S]*tested: the server does not start: retinue: .*rule/)]);
  });

  it('gets the names of the variables that it needs from Codex, never their values', async () => {
    using at = place({ OPENAI_API_KEY: 'sk-the-value-itself', OLLAMA_HOST: 'http://127.0.0.1:1' });
    const file = put(at, files.codex[0], '[mcp_servers.retinue]\nenv_vars = ["MINE", "OLLAMA_HOST"]\n');
    const { err } = await install(at, 'codex', '--yes', '--model', 'anthropic/claude-sonnet-5');
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('env_vars = ["MINE", "OLLAMA_HOST", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"]\n');
    expect(text + err).not.toContain('the-value-itself');
    expect(err).toContain('ANTHROPIC_API_KEY is not set here; delegated runs need it, so set it where codex starts\n');
  });
});

describe('an existing file', () => {
  it('keeps its comments, order and other servers, and gets a backup', async () => {
    using at = place();
    const before = `// my settings\n{\n    "theme": "dark", // nice\n    "context_servers": {\n        "other": { "command": "x", "args": [] }, // theirs\n    },\n    "last": [1, 2,],\n}\n`;
    const file = put(at, files.zed[0], before);
    const done = await install(at, 'zed', '--yes');
    expect(done.code).toBe(0);
    const after = readFileSync(file, 'utf8');
    for (const kept of [
      '// my settings',
      '"theme": "dark", // nice',
      '"other": { "command": "x", "args": [] }, // theirs',
      '"last": [1, 2,]',
    ])
      expect(after).toContain(kept);
    expect(after).toMatch(/\n {8}"retinue": \{\n {12}"command"/);
    expect(readFileSync(`${file}.before-retinue`, 'utf8')).toBe(before);
  });

  it('keeps what the user added to our entry', async () => {
    using at = place();
    const entry = { command: 'old', args: ['x'], env: { KEY: 'value' }, disabled: true };
    const file = put(at, files.cursor[0], JSON.stringify({ mcpServers: { retinue: entry, other: {} } }, null, '\t'));
    await install(at, 'cursor', '--yes');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ mcpServers: { retinue: { ...entry, ...server }, other: {} } });
    expect(readFileSync(file, 'utf8')).toContain('\n\t\t"retinue": {');
  });

  it.each(['cursor', 'claude-code'] as const)(
    'loses what our own entry of %s had for another transport, and says so first',
    async (client) => {
      using at = place();
      const entry = { type: 'http', url: 'http://x/', env: { KEY: 'value' }, headers: { a: 'b' } };
      const text = `{\n  "mcpServers": {\n    // ours\n    "retinue": ${JSON.stringify(entry)},\n    "other": { "url": "http://y/" }\n  }\n}\n`;
      const file = put(at, files[client][0], text);
      const removed = ['type', 'url', 'headers'].filter((key) => key !== 'type' || client === 'cursor');
      const said = `belong to a server at an address: ${removed.map((key) => `\`mcpServers.retinue.${key}\``).join(', ')}\n`;
      expect((await install(at, client)).out).toContain(said);
      expect((await install(at, client, '--yes')).out).toContain(said);
      const after = readFileSync(file, 'utf8');
      expect(after).toContain('// ours');
      expect(JSON.parse(after.replace('// ours', ''))).toEqual({
        mcpServers: {
          retinue: { ...(client === 'cursor' ? {} : { type: 'stdio' }), env: { KEY: 'value' }, ...server },
          other: { url: 'http://y/' },
        },
      });
      expect((await install(at, client, '--yes')).err).toContain('already has this entry');
    },
  );

  it('of opencode may have its servers one level deeper', async () => {
    using at = place();
    const file = put(at, files.opencode[0], '{"mcp": {"servers": {"other": {"type": "local", "command": ["x"]}}}}');
    await install(at, 'opencode', '--yes');
    const { mcp } = JSON.parse(readFileSync(file, 'utf8'));
    expect([Object.keys(mcp), Object.keys(mcp.servers)]).toEqual([['servers'], ['other', 'retinue']]);
  });

  it('that is a link stays a link and keeps its mode', async () => {
    using at = place();
    const real = put(at, 'dotfiles/cursor.json', '{}');
    mkdirSync(join(at.folder, '.cursor'));
    symlinkSync(real, join(at.folder, files.cursor[0]));
    await install(at, 'cursor', '--yes');
    expect(lstatSync(join(at.folder, files.cursor[0])).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toContain('retinue');
    expect(statSync(real).mode & 0o777).toBe(0o644);
  });

  const broken: [what: string, client: keyof typeof files, text: string, why: RegExp][] = [
    ['is not JSON', 'cursor', '{"mcpServers": {', /line 1 is not JSON/],
    ['is no object', 'cursor', '[]', /not a JSON object/],
    ['has something else in the place', 'cursor', '{"mcpServers": []}', /`mcpServers` is not an object/],
    ['has something else as our entry', 'cursor', '{"mcpServers": {"retinue": "x"}}', /`mcpServers.retinue` is not an object/],
    ['has a key twice', 'cursor', '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}', /without changing something else/],
    ['is not UTF-8', 'cursor', 'latin', /not UTF-8/],
    ['has a string without an end', 'codex', 'a = "x\n', /line 1 is not valid TOML/],
    ['has the server inline', 'codex', 'mcp_servers = { retinue = { command = "x" } }\n', /in a form that cannot be edited/],
    ['has the server in a list', 'codex', '[[mcp_servers.retinue]]\ncommand = "x"\n', /`mcp_servers\.retinue` must be one table/],
    ['has servers in a list', 'codex', '[[mcp_servers]]\nname = "x"\n', /`mcp_servers` must be one table/],
    ['has the server with dots', 'codex', 'mcp_servers.retinue.command = "x"\n', /in a form that cannot be edited/],
  ];
  it.each(broken)('that %s (%#) is not changed', async (_, client, text, why) => {
    using at = place();
    const file = put(at, files[client][0], text);
    if (text === 'latin') writeFileSync(file, Buffer.from([0x7b, 0xe4, 0x7d]));
    const before = readFileSync(file);
    const { code, err } = await install(at, client, '--yes');
    expect([code, err]).toEqual([2, expect.stringMatching(why)]);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(dirname(file)).filter((name) => name.startsWith(file.split('/').at(-1) as string))).toHaveLength(1);
  });
});

describe('TOML', () => {
  const others = [
    '# my codex',
    'model = "o"',
    'notes = """',
    '[mcp_servers.retinue]',
    'command = "not ours" """',
    'list = [ # comment ]',
    '  "a]", \'b[\', { x = 1 },',
    ']',
    '',
    '[mcp_servers.other]',
    'command = "npx"  # keep',
    'args = ["-y", "x"]',
  ].join('\n');

  it('gets our table at the end, and nothing else changes', async () => {
    using at = place();
    const file = put(at, files.codex[0], others);
    await install(at, 'codex', '--yes');
    expect(readFileSync(file, 'utf8')).toMatch(
      new RegExp(`^${others.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\n\\n\\[mcp_servers\\.retinue\\]\\ncommand = `),
    );
  });

  it('has only command and args of our table replaced', async () => {
    using at = place();
    const own = [
      '[mcp_servers."retinue"] # mine',
      'args = [',
      '  "old", # an old one',
      ']',
      'tool_timeout_sec = 5',
      "command = 'old' # this",
      '',
      '[mcp_servers.retinue.env]',
      'KEY = "v"',
      '',
    ];
    const file = put(at, files.codex[0], `${others}\n\n${own.join('\r\n')}`);
    await install(at, 'codex', '--yes', '--model', 'a"b\\c/d');
    const args = [bin, 'mcp', '--model', 'a"b\\c/d'].map((each) => JSON.stringify(each)).join(', ');
    expect(readFileSync(file, 'utf8')).toBe(
      `${others}\n\n${['[mcp_servers."retinue"] # mine', `args = [${args}]`, 'tool_timeout_sec = 5', `command = ${JSON.stringify(server.command)} # this`, '', '[mcp_servers.retinue.env]', 'KEY = "v"', ''].join('\r\n')}`,
    );
    expect((await install(at, 'codex', '--yes', '--model', 'a"b\\c/d')).err).toContain('already has this entry');
  });

  it('loses the settings of another transport in our table, after a notice', async () => {
    using at = place();
    const before = [
      '[mcp_servers.retinue] # mine',
      'url = "http://x/" # old',
      '  http_headers.a = "b"',
      'enabled = true',
      '',
      '[mcp_servers.retinue.env_http_headers]',
      'X = """',
      'Y"""',
      '# about the next one',
      '[mcp_servers.other]',
      'url = "http://y/"',
      '',
    ];
    const file = put(at, files.codex[0], before.join('\n'));
    const { out } = await install(at, 'codex', '--yes');
    const removed = ['url', 'http_headers', 'env_http_headers'].map((key) => `\`mcp_servers.retinue.${key}\``);
    expect(out).toContain(`These keys are removed, because they belong to a server at an address: ${removed.join(', ')}\n`);
    const args = server.args.map((each) => JSON.stringify(each)).join(', ');
    expect(readFileSync(file, 'utf8')).toBe(
      [
        '[mcp_servers.retinue] # mine',
        `command = ${JSON.stringify(server.command)}`,
        `args = [${args}]`,
        'enabled = true',
        '',
        '# about the next one',
        '[mcp_servers.other]',
        'url = "http://y/"',
        '',
      ].join('\n'),
    );
    expect((await install(at, 'codex', '--yes')).err).toContain('already has this entry');
  });
});
