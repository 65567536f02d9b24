// An empty workspace, home and user configuration folder, deleted after use.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadSettings } from '../../src/config/load.ts';
import type { Settings, SettingsFlags } from '../../src/config/settings.ts';

export interface TestWorkspace {
  folder: string;
  workspace: string;
  env: Record<string, string>;
  /** Writes a file; its path begins with `work/`, `home/` or `own/` (the user's configuration folder). */
  write(path: string, content: string | object): string;
  settings(flags?: Partial<SettingsFlags>): Settings;
  [Symbol.dispose](): void;
}

export function createTestWorkspace(): TestWorkspace {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-test-')));
  const workspace = join(folder, 'work');
  const env = { HOME: join(folder, 'home'), XDG_CONFIG_HOME: join(folder, 'xdg'), PATH: '/nowhere' };
  for (const path of [workspace, env.HOME]) mkdirSync(path);
  return {
    folder,
    workspace,
    env,
    write(path, content) {
      const file = join(folder, path.replace(/^own\//, 'xdg/retinue/'));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
      return file;
    },
    settings: (flags = {}) => loadSettings({ limits: {}, rules: [], ...flags }, { cwd: workspace, env }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function agentText(name: string, lines = ''): string {
  return `---\nname: ${name}\ndescription: Does ${name}.\n${lines}\n---\nYou are ${name}.\n`;
}
