// The workspace for test/fixtures/paths.json: every kind of link inside, and files outside that no tool may reach.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const canary = 'CANARY-OF-THE-OUTSIDE';

export interface PathFixture extends AsyncDisposable {
  workspace: string;
  outside: string;
  /** The path of an entry, with its placeholders replaced. */
  pathOf(written: string): string;
  /** Everything outside, and the state of the runtime, by name and content. */
  guarded(): string[];
}

const links: Record<string, string> = {
  inner: 'dir',
  'inner-file': 'dir/plain',
  final: '{outside}/secret',
  'final-relative': '../outside/secret',
  'chain-file': 'final',
  'to-etc': '/etc',
  'to-passwd': '/etc/passwd',
  'to-device': '/dev/zero',
  'to-null': '/dev/null',
  'to-stdin': '/dev/stdin',
  'to-fd': '/proc/self/fd',
  'to-fifo': 'fifo',
  dangling: '{outside}/not-there',
  circle: 'circle',
  'circle-a': 'circle-b',
  'circle-b': 'circle-a',
  middle: '{outside}',
  'dir/up': '../../outside',
  chain: 'middle',
  up: '..',
  dots: 'dir/../../outside',
  root: '/proc/self/root',
  cwd: '/proc/self/cwd',
  environ: '/proc/self/environ',
  state: '.retinue',
  gitlink: '.git',
  'settings-link': '.claude',
};

export async function createPathFixture(): Promise<PathFixture> {
  const base = mkdtempSync(join(tmpdir(), 'retinue-paths-'));
  const [workspace, outside] = [join(base, 'workspace'), join(base, 'outside')];
  const replacePlaceholders = (text: string) => text.replaceAll('{workspace}', workspace).replaceAll('{outside}', outside);
  for (const folder of ['dir', '.retinue', '.git/hooks', '.claude/agents', 'node_modules/p', 'lib/site-packages/p', 'moved-hooks'])
    mkdirSync(join(workspace, folder), { recursive: true });
  mkdirSync(join(outside, 'folder'), { recursive: true });
  writeFileSync(join(outside, 'secret'), canary);
  writeFileSync(join(outside, 'folder/deep'), canary);
  writeFileSync(join(outside, 'package'), 'of a store');
  writeFileSync(join(workspace, 'dir/plain'), 'plain');
  writeFileSync(join(workspace, '.retinue/retinue.db'), canary);
  writeFileSync(join(workspace, '.git/config'), '[core]\n\thooksPath = moved-hooks\n');
  for (const [at, target] of Object.entries(links)) symlinkSync(replacePlaceholders(target), join(workspace, at));
  linkSync(join(outside, 'secret'), join(workspace, 'hard'));
  linkSync(join(outside, 'folder/deep'), join(workspace, 'dir/hard'));
  for (const store of ['node_modules', 'lib/site-packages']) linkSync(join(outside, 'package'), join(workspace, store, 'p/shared'));
  writeFileSync(join(workspace, 'pair-a'), 'both names are inside');
  linkSync(join(workspace, 'pair-a'), join(workspace, 'pair-b'));
  execFileSync('mkfifo', [join(workspace, 'fifo'), join(workspace, 'dir/fifo')]);
  const server = await listen(join(workspace, 'socket'));
  const deep = 'd/'.repeat(1500);
  return {
    workspace,
    outside,
    pathOf: (written) =>
      replacePlaceholders(written)
        .replace('{longname}', 'n'.repeat(300))
        .replace('{long}', `dir/${'x/'.repeat(2040)}`)
        .replace('{deep}', `${deep}x`),
    guarded: () => [...tree(outside), ...tree(join(workspace, '.retinue')), ...tree(join(workspace, '.git'))],
    async [Symbol.asyncDispose]() {
      await new Promise((done) => server.close(done));
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function listen(path: string): Promise<Server> {
  const server = createServer();
  return new Promise((done) => server.listen(path, () => done(server)));
}

function tree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((found) => {
      const path = join(found.parentPath, found.name);
      if (found.isDirectory()) return `${path}/`;
      return `${path}: ${found.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8')}`;
    })
    .sort();
}
