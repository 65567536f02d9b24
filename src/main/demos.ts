// Loads the demos, which are examples (examples/demo/) built into dist/demo/. They use the published entry points, so no other code of the
// program depends on them.
import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ClusterDemo, CrashDemo, Demo, LongDemo, MergeDemo, RightsDemo } from '../cli/io.ts';
import type { ProcessContext } from '../config/load.ts';
import { findWorkspace } from '../config/workspace.ts';
import { RetinueError } from '../contract/error.ts';
import { inspectMachine } from '../doctor/machine.ts';
import { unknownNameMessage } from '../text/suggest.ts';

interface DemoModules {
  runs: {
    runDemos: Record<
      string,
      (context: { root: string; workspace: string; isInsidePackage: boolean; isSlow: boolean }) => Omit<Demo, 'program' | 'inspectMachine'>
    >;
  };
  rights: { createRightsDemo(name: 'hostile' | 'runaway'): RightsDemo };
  cluster: { runClusterDemo(context: { root: string; env: NodeJS.ProcessEnv }, report: (line: string) => void): Promise<ClusterDemo> };
  merge: { createMergeDemo(): MergeDemo };
  long: { runLongDemo(report: (line: string) => void): Promise<LongDemo> };
  crash: { runCrashDemo(context: { root: string; env: NodeJS.ProcessEnv }, report: (line: string) => void): Promise<CrashDemo> };
}

/** `name` is a file of examples/demo/. */
export function loadDemoModule<Name extends keyof DemoModules>(root: string, name: Name): Promise<DemoModules[Name]> {
  return import(pathToFileURL(join(root, 'dist', 'demo', `${name}.js`)).href) as Promise<DemoModules[Name]>;
}

/** Rejects with `usage` for an unknown name. */
export async function createDemo(
  name: string,
  { root, isSlow, cwd, env }: ProcessContext & { root: string; isSlow: boolean },
): Promise<Demo> {
  const { runDemos } = await loadDemoModule(root, 'runs');
  const create = Object.hasOwn(runDemos, name) ? runDemos[name] : undefined;
  if (!create)
    throw new RetinueError(
      'usage',
      unknownNameMessage('demo', name, [...Object.keys(runDemos), 'crash', 'cluster', 'merge', 'hostile', 'runaway', 'long']),
    );
  const isInsidePackage = `${realpathSync(cwd)}${sep}`.startsWith(`${root}${sep}`);
  const program = isInsidePackage ? 'npx retinue' : 'retinue';
  // The commands that the demo recommends look into the database of the same workspace.
  const workspace = findWorkspace(undefined, { cwd, env }).path;
  return { ...create({ root, workspace, isInsidePackage, isSlow }), program, inspectMachine: () => inspectMachine(env, program) };
}
