// Builds dist/: the bundle of the command line and of the library's doors, and their types. Code that only some commands need becomes a
// chunk of its own. `--no-types` leaves the types out (tests of the command line do not need them).
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { build } from 'rolldown';

rmSync('dist', { recursive: true, force: true });
// The packages of ripgrep and of tree-sitter find their files relative to themselves. A program and the library must share one copy of zod; the command line starts
// faster with its own.
const apart = ['@vscode/ripgrep', 'web-tree-sitter'];
// The grammar is the one file that is needed of its package, which would build a native module where it is installed.
mkdirSync('dist');
copyFileSync(createRequire(import.meta.url).resolve('tree-sitter-bash/tree-sitter-bash.wasm'), 'dist/tree-sitter-bash.wasm');

/*
 * Node takes about half a millisecond for each file that it loads, so what is always loaded together stands in one file: what every run's
 * process needs, what every command needs, and what `run` needs, each without what stands in those before it.
 */
const stages = [
  ['process', ['src/main/child.ts']],
  ['command', ['src/cli/program.ts']],
  ['run', ['src/main/config.ts', 'src/main/compose.ts', 'src/sandboxes/bubblewrap.ts']],
];

/** Modules of the command line by the stage that first needs them. `cli.ts` itself, which is all that `--version` needs, is in none. */
function stageFinder() {
  const stageOf = new Map();
  return {
    name: 'stages',
    stageOf,
    buildEnd() {
      const take = (id, stage) => {
        const info = stageOf.has(id) ? null : this.getModuleInfo(id);
        if (!info || info.isExternal) return;
        stageOf.set(id, stage);
        for (const next of info.importedIds) take(next, stage);
      };
      take(resolve('src/main/cli.ts'), null);
      for (const [stage, entries] of stages) for (const entry of entries) take(resolve(entry), stage);
    },
  };
}

const finder = stageFinder();
const shared = {
  platform: 'node',
  resolve: { mainFields: ['module', 'main'] },
  transform: { target: 'node24' },
  checks: { ineffectiveDynamicImport: false },
};
const output = {
  dir: 'dist',
  format: 'esm',
  entryFileNames: '[name].js',
  sourcemap: true,
};
await Promise.all([
  build({
    ...shared,
    input: { cli: 'src/main/cli.ts' },
    external: apart,
    plugins: [finder],
    preserveEntrySignatures: 'allow-extension',
    output: {
      ...output,
      chunkFileNames: 'cli/[name]-[hash].js',
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ debugName: 'stage', name: (id) => finder.stageOf.get(id) ?? null }],
      },
    },
  }),
  build({
    ...shared,
    input: {
      index: 'src/main/index.ts',
      sqlite: 'src/main/sqlite.ts',
      testing: 'src/main/testing.ts',
      dialects: 'src/main/dialects.ts',
    },
    external: [...apart, 'zod', '@ai-sdk/provider'],
    output: { ...output, chunkFileNames: 'library/[name]-[hash].js' },
  }),
]);
if (!process.argv.includes('--no-types')) execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
