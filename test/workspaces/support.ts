// Real git repositories for tests, made with the user's git in folders of their own.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createCheckouts } from '../../src/workspaces/checkouts.ts';

export const noFiles = { from: '/nonexistent', paths: [] };

export interface Sandbox {
  folder: string;
  /** Runs git in a folder below, without any configuration of the user. */
  git(folder: string, ...args: string[]): string;
  write(path: string, text: string | Uint8Array, mode?: number): void;
  link(target: string, path: string): void;
  /** A repository with one commit of these files. */
  repository(name: string, files: Record<string, string>): string;
  [Symbol.dispose](): void;
}

export function createSandbox(): Sandbox {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-checkouts-')));
  const env = {
    PATH: process.env.PATH,
    HOME: join(folder, 'home'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.org',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.org',
  };
  const git = (at: string, ...args: string[]) =>
    execFileSync('git', args, { cwd: join(folder, at), env, encoding: 'utf8', stdio: 'pipe' }).trim();
  const write = (path: string, text: string | Uint8Array, mode?: number) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    if (mode !== undefined) chmodSync(join(folder, path), mode);
  };
  mkdirSync(join(folder, 'home'));
  return {
    folder,
    git,
    write,
    link: (target, path) => symlinkSync(target, join(folder, path)),
    repository(name, files) {
      mkdirSync(join(folder, name), { recursive: true });
      git(name, 'init', '-q', '-b', 'main');
      for (const [path, text] of Object.entries(files)) write(`${name}/${path}`, text);
      git(name, 'add', '-A');
      git(name, 'commit', '-q', '-m', 'first', '--allow-empty');
      return join(folder, name);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Checkouts in the folder `state`, with the user's home in `home`. */
export function openCheckouts({ folder }: Sandbox, options: Partial<Parameters<typeof createCheckouts>[0]> = {}) {
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home') };
  return createCheckouts({ env, root: join(folder, 'state'), shared: 'all', ...options });
}

let runs = 0;

export function nextRun(): string {
  return (++runs).toString(16).padStart(16, '0');
}
