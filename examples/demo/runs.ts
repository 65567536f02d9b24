// `retinue demo` and `retinue demo fan-out`: one run each, without a key and without the network.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DemoContext {
  /** Folder of the package. */
  root: string;
  /** The workspace of the current folder. */
  workspace: string;
  /** Whether the current folder is inside the package. */
  isInsidePackage: boolean;
  /** At the pace of a language model. */
  isSlow: boolean;
}

export interface RunDemo {
  about: string;
  task: string;
  workspace: string;
  model: string;
  /** Null: the database of the workspace. */
  db: string | null;
}

export const runDemos: Record<string, (context: DemoContext) => RunDemo> = {
  survey: ({ workspace, isSlow }) => ({
    about: `surveys ${workspace} by fixed rules, without a language model; the delegation, the tools and the log are real`,
    task: 'Survey this folder',
    workspace,
    model: isSlow ? 'offline/slow-surveyor' : 'offline/surveyor',
    db: null,
  }),
  'fan-out': ({ root, isInsidePackage }) => ({
    about: 'a scripted model replaces the real one; the files, the log and the child runs are real',
    task: 'Describe what this package contains',
    workspace: root,
    model: `script/${join(root, 'examples', 'demo', 'fan-out.json')}`,
    db: isInsidePackage ? null : join(mkdtempSync(join(tmpdir(), 'retinue-demo-')), 'retinue.db'),
  }),
};
