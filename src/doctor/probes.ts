// Looks at the machine: programs on the PATH, writable folders, Ollama. Starts nothing.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { Env } from '../config/user-folders.ts';

const ollamaTimeoutMs = 300;

const agentPrograms = ['claude', 'codex', 'gemini', 'opencode', 'aider', 'cursor-agent', 'amp', 'goose', 'copilot', 'qwen'];

/** Command-line programs of other agents on the PATH. */
export function findAgentPrograms(env: Env): string[] {
  return agentPrograms.filter((name) => findOnPath(name, env) !== null);
}

/** Absolute path of an executable file; null if it is not on the PATH. */
export function findOnPath(name: string, env: Env): string | null {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

export function hasBundledRipgrep(): boolean {
  try {
    createRequire(import.meta.url).resolve('@vscode/ripgrep');
    return true;
  } catch {
    return false;
  }
}

/** Whether the nearest existing directory above the path is writable. */
export function canCreateFile(path: string): boolean {
  let folder = dirname(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

/** Parses OLLAMA_HOST like Ollama does: with or without scheme and port. */
export function ollamaHost(env: Env): URL {
  const standard = new URL('http://127.0.0.1:11434');
  const given = env.OLLAMA_HOST?.trim();
  if (!given) return standard;
  const url = URL.parse(/^https?:\/\//.test(given) ? given : `http://${given}`);
  if (url === null) return standard;
  if (url.port === '' && !/^https?:\/\//.test(given)) url.port = '11434';
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  return url;
}

/** Ollama's version; null if nothing answers in time, or something else does. */
export async function probeOllama(host: URL): Promise<string | null> {
  try {
    const response = await fetch(new URL('/api/version', host), { signal: AbortSignal.timeout(ollamaTimeoutMs), redirect: 'error' });
    const { version } = (await response.json()) as { version?: unknown };
    return typeof version === 'string' && version.length < 50 ? version : null;
  } catch {
    return null;
  }
}
