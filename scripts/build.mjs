// Builds dist/: the command line, the library's entry points, the dashboard, the demos and the types. Code that only some commands need becomes a separate
// chunk. `--no-types` skips the types.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { build } from 'rolldown';
import { build as buildWeb } from 'vite';
import { deferConstants } from './defer-constants.mjs';
import { englishOnly } from './english-only.mjs';
import { lazyPrices } from './lazy-prices.mjs';
import { lookUpBuiltins } from './look-up-builtins.mjs';
import { slimUndici } from './slim-undici.mjs';

// Vite would build React for development where this names another environment, as in tests.
process.env.NODE_ENV = 'production';

rmSync('dist', { recursive: true, force: true });
// These packages find their files relative to themselves, so they cannot be bundled.
const unbundled = ['@vscode/ripgrep', 'web-tree-sitter'];
// Other implementations of PostgreSQL's client, which it loads only where they are asked for.
const unused = ['pg-native', 'pg-cloudflare'];
// Only the grammar file of this package is needed; as a dependency it would build a native module at installation.
mkdirSync('dist');
copyFileSync(createRequire(import.meta.url).resolve('tree-sitter-bash/tree-sitter-bash.wasm'), 'dist/tree-sitter-bash.wasm');

/*
 * Node takes about half a millisecond per file, so modules that are always loaded together go into one chunk: first what the process of a
 * run needs, then what every command needs, then what commands on stored runs need, then what `run` needs. Each stage leaves out what an earlier one has.
 */
const commandStages = [
  ['start', ['src/main/cli.ts']],
  ['process', ['src/main/child.ts']],
  ['command', ['src/cli/program.ts', 'src/main/process-io.ts']],
  ['open', ['src/config/load.ts', 'src/main/open-api.ts']],
  ['run', ['src/main/prepare-runtime.ts', 'src/main/assemble-runtime.ts', 'src/sandboxes/bubblewrap.ts']],
];

/** The same for the library: what every program needs, then what the first run needs. */
const libraryStages = [
  ['core', ['src/main/index.ts']],
  ['run', ['src/main/assemble-runtime.ts', 'src/sandboxes/bubblewrap.ts']],
];

/** Maps each module to the stage that first needs it. Entry points have none: they stay files with their own names. */
function stageFinder(stages, entryPoints) {
  const stageOf = new Map();
  /** By entry point. Chunks export more, for each other. */
  const exportsOf = new Map();
  return {
    name: 'stages',
    exportsOf,
    buildEnd() {
      const assign = (id, stage) => {
        const info = stageOf.has(id) ? null : this.getModuleInfo(id);
        if (!info || info.isExternal) return;
        stageOf.set(id, stage);
        for (const next of info.importedIds) assign(next, stage);
      };
      for (const entry of entryPoints) {
        stageOf.set(resolve(entry), null);
        exportsOf.set(entry, this.getModuleInfo(resolve(entry)).exports.toSorted());
      }
      for (const [stage, modules] of stages)
        for (const id of modules.map((module) => resolve(module)))
          if (stageOf.has(id)) for (const next of this.getModuleInfo(id).importedIds) assign(next, stage);
          else assign(id, stage);
    },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'stage', name: (id) => stageOf.get(id) ?? null }],
    },
  };
}

/** An old Node must be able to load the library, so that it can say which version is needed: the syntax is lowered. */
const libraryEntries = {
  index: 'src/main/index.ts',
  sqlite: 'src/main/sqlite.ts',
  postgres: 'src/main/postgres.ts',
  testing: 'src/main/testing.ts',
  dialects: 'src/main/dialects.ts',
  flow: 'src/main/flow.ts',
};
const deferral = deferConstants(['src/main/cli.ts', ...Object.values(libraryEntries)]);
const commandChunks = stageFinder(commandStages, ['src/main/cli.ts']);
const libraryChunks = stageFinder(libraryStages, Object.values(libraryEntries));
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
  minify: {
    compress: { keepNames: { function: true, class: true } },
    mangle: { keepNames: true },
    codegen: { removeWhitespace: true, asciiOnly: true },
  },
};
/** Node prints the source line of an uncaught error, so the code that programs load has lines. */
const outputWithLines = {
  ...output,
  minify: { ...output.minify, codegen: { ...output.minify.codegen, removeWhitespace: false } },
};
await Promise.all([
  build({
    ...shared,
    input: { cli: 'src/main/cli.ts' },
    // The production build of React; its developer tools are not part of the package.
    transform: { ...shared.transform, define: { 'process.env.NODE_ENV': '"production"' } },
    external: [...unbundled, ...unused, 'react-devtools-core'],
    plugins: [deferral, slimUndici, lookUpBuiltins, commandChunks, lazyPrices, englishOnly],
    preserveEntrySignatures: 'allow-extension',
    output: {
      ...output,
      chunkFileNames: 'cli/[name]-[hash].js',
      codeSplitting: commandChunks.codeSplitting,
    },
  }),
  build({
    ...shared,
    transform: { target: 'node18' },
    input: libraryEntries,
    // A program and the library must share one copy of the provider interface.
    external: [...unbundled, ...unused, '@ai-sdk/provider'],
    plugins: [deferral, slimUndici, lookUpBuiltins, libraryChunks, lazyPrices, englishOnly],
    preserveEntrySignatures: 'allow-extension',
    output: {
      ...outputWithLines,
      entryFileNames: 'library/[name].js',
      chunkFileNames: 'library/[name]-[hash].js',
      codeSplitting: libraryChunks.codeSplitting,
    },
  }),
  // `retinue/client` also runs in browsers, so it is one file without a check of Node's version.
  build({
    ...shared,
    platform: 'browser',
    transform: { target: 'es2022' },
    input: { client: 'src/main/client.ts' },
    output: outputWithLines,
  }),
  build({
    ...shared,
    transform: { target: 'node18' },
    input: { 'node-version': 'src/system/node-version.ts', 'check-node': 'src/main/check-node.ts' },
    output,
  }),
  build({
    ...shared,
    input: {
      'demo/runs': 'examples/demo/runs.ts',
      'demo/rights': 'examples/demo/rights.ts',
      'demo/merge': 'examples/demo/merge.ts',
      'demo/crash': 'examples/demo/crash.ts',
      'demo/cluster': 'examples/demo/cluster.ts',
      'demo/long': 'examples/demo/long.ts',
    },
    // The demos are examples: they use the package by its name, like any other program.
    external: [/^retinue(\/|$)/],
    output,
  }),
  buildWeb({ configFile: 'web/vite.config.ts', logLevel: 'warn' }),
]);
// Modules run in the order of their imports, so the check comes first.
for (const [name, entry] of Object.entries(libraryEntries)) {
  const exported = libraryChunks.exportsOf.get(entry).join(', ');
  writeFileSync(`dist/${name}.js`, `import './check-node.js';\nexport { ${exported} } from './library/${name}.js';\n`);
}
if (!process.argv.includes('--no-types'))
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
