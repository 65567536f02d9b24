// `retinue acp install` with the real program and a temporary home folder.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from '../cli/support-process.ts';
import { bin } from './support.ts';

const place = (env: Record<string, string> = {}) => createPlace({ runs: [{ steps: [] }] }, { XDG_CONFIG_HOME: '', ...env });
const files = { zed: '.config/zed/settings.json', jetbrains: '.jetbrains/acp.json' };
const server = { command: process.execPath, args: [bin, 'acp'] };

function put({ folder }: Place, name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe('install', () => {
  it.each(['zed', 'jetbrains'] as const)(
    'writes the file of %s after asking, tests the agent, and changes nothing the second time',
    async (editor) => {
      using at = place();
      const file = join(at.folder, files[editor]);
      const asked = await at.run('acp', 'install', editor);
      expect([asked.code, existsSync(file)]).toEqual([2, false]);
      const done = await at.run('acp', 'install', editor, '--yes');
      expect([done.code, done.err]).toEqual([0, expect.stringContaining('tested: the agent starts and opens a session')]);
      const entry = { ...(editor === 'zed' ? { type: 'custom' } : {}), ...server, env: {} };
      const text = readFileSync(file, 'utf8');
      expect(JSON.parse(text)).toEqual({ agent_servers: { retinue: entry } });
      const again = await at.run('acp', 'install', editor, '--yes');
      expect([again.code, again.err, readFileSync(file, 'utf8')]).toEqual([0, expect.stringContaining('already has this entry'), text]);
    },
  );

  it('keeps the comments and settings of the editor, its own environment and a backup', async () => {
    using at = place();
    const before = `{
  // my theme
  "theme": "One Dark",
  "agent_servers": {
    "retinue": { "command": "old", "args": [], "env": { "A": "b" } }, // here
  },
}
`;
    const file = put(at, files.zed, before);
    expect(await at.run('acp', 'install', 'zed', '--yes', '--deny', 'bash')).toMatchObject({ code: 0 });
    const after = readFileSync(file, 'utf8');
    for (const kept of ['// my theme', '"theme": "One Dark"', '// here', '"A": "b"', '"--deny"']) expect(after).toContain(kept);
    expect(readFileSync(`${file}.before-retinue`, 'utf8')).toBe(before);
  });

  it('does not touch a file that it cannot parse', async () => {
    using at = place();
    const file = put(at, files.zed, '{ "theme": ');
    const refused = await at.run('acp', 'install', 'zed', '--yes');
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('was not changed: line 1 is not JSON')]);
    expect(readFileSync(file, 'utf8')).toBe('{ "theme": ');
  });

  it('prints an entry, and the lines for Neovim, without writing', async () => {
    using at = place();
    const printed = await at.run('acp', 'install', 'zed', '--print', '--model', 'anthropic/x');
    expect(JSON.parse(printed.out).agent_servers.retinue.args).toEqual([bin, 'acp', '--model', 'anthropic/x']);
    const neovim = await at.run('acp', 'install', 'neovim');
    expect(neovim.code).toBe(0);
    expect(neovim.out).toContain(`commands = { default = { "${process.execPath}", "${bin}", "acp" } }`);
    expect(neovim.out).toContain('acp_providers = { retinue =');
    expect(Object.values(files).filter((name) => existsSync(join(at.folder, name)))).toEqual([]);
  });

  it('explains wrong usage', async () => {
    using at = place();
    const cases: [string[], string][] = [
      [['install'], 'the editor is missing; usage: retinue acp install zed|jetbrains|neovim'],
      [['install', 'zde'], 'did you mean'],
      [['instal', 'zed'], 'install'],
      [['--print'], '--print is a flag of `retinue acp install EDITOR`'],
      [['install', 'zed', '--budget-usd', 'much'], '--budget-usd'],
    ];
    for (const [args, text] of cases) expect(await at.run('acp', ...args)).toMatchObject({ code: 2, err: expect.stringContaining(text) });
  });

  it('has a help page that teaches', async () => {
    using at = place();
    const { code, out } = await at.run('acp', '--help');
    expect(code).toBe(0);
    for (const text of ['retinue acp install zed', 'jetbrains', 'neovim', 'Agent Client Protocol']) expect(out).toContain(text);
  });
});
