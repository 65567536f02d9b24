// The official MCP inspector in its command line mode.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace } from '../cli/support-process.ts';
import { bin, createTemporaryFolder } from './support.ts';
import { startServe } from './support-serve.ts';

const modules = resolve(import.meta.dirname, '../../node_modules');

/** Copies the package into the layout of its repository, because it reads its version from a package.json in the parent folder. */
function copyInspector(folder: string): string {
  const inside = join(folder, 'inspector');
  const own = join(modules, '@modelcontextprotocol/inspector-cli');
  mkdirSync(inside);
  cpSync(own, join(inside, 'cli'), { recursive: true });
  cpSync(join(own, 'package.json'), join(inside, 'package.json'));
  symlinkSync(modules, join(inside, 'node_modules'));
  return join(inside, 'cli/build/cli.js');
}

describe('the inspector', () => {
  it('lists the tools and calls them', () => {
    using place = createTemporaryFolder({ 'script.json': JSON.stringify({ runs: [{ steps: [{ text: 'seen by the inspector' }] }] }) });
    const inspector = copyInspector(place.folder);
    const inspect = (...args: string[]) => {
      const env = { PATH: process.env.PATH, HOME: place.folder, RETINUE_MODEL: 'script/script.json' };
      const command = [inspector, '--cli', process.execPath, bin, 'mcp', ...args];
      const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: place.folder, env, encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, expect.not.stringContaining('ailed')]);
      return JSON.parse(stdout);
    };
    expect(inspect('--method', 'tools/list').tools.map((tool: { name: string }) => tool.name)).toContain('delegate');
    const args = ['--method', 'tools/call', '--tool-name', 'delegate', '--tool-arg', 'tasks=[{"task":"look"}]'];
    expect(inspect(...args).content[0].text).toContain('seen by the inspector');
  });

  it('calls a tool over HTTP', async () => {
    using place = createPlace({ runs: [{ steps: [{ text: 'seen over HTTP' }] }] });
    const server = await startServe(place);
    const header = `Authorization: Bearer ${server.token}`;
    const call = ['--method', 'tools/call', '--tool-name', 'delegate', '--tool-arg', 'tasks=[{"task":"look"}]'];
    const args = [copyInspector(place.folder), '--cli', `${server.url}/mcp`, '--transport', 'http', '--header', header, ...call];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: place.folder, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('ailed')]);
    expect(JSON.parse(stdout).content[0].text).toContain('seen over HTTP');
    await server.stop();
  });
});
