// Builds dist/: the bundle of the command line and of the library's doors, and their types. Code that only some commands need becomes a
// chunk of its own. `--no-types` leaves the types out (tests of the command line do not need them).
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });
const shared = {
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  sourcemap: true,
  mainFields: ['module', 'main'],
  logLevel: 'warning',
  // CommonJS dependencies inside an ES module bundle need a `require`.
  banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
};
// The packages of ripgrep and of tree-sitter find their files relative to themselves. A program and the library must share one copy of zod; the command line starts
// faster with its own.
const apart = ['@vscode/ripgrep', 'web-tree-sitter'];
// The grammar is the one file that is needed of its package, which would build a native module where it is installed.
mkdirSync('dist');
copyFileSync(createRequire(import.meta.url).resolve('tree-sitter-bash/tree-sitter-bash.wasm'), 'dist/tree-sitter-bash.wasm');
await Promise.all([
  build({ ...shared, entryPoints: { cli: 'src/main/cli.ts' }, chunkNames: 'cli/[name]-[hash]', external: apart }),
  build({
    ...shared,
    entryPoints: {
      index: 'src/main/index.ts',
      sqlite: 'src/main/sqlite.ts',
      testing: 'src/main/testing.ts',
      dialects: 'src/main/dialects.ts',
    },
    chunkNames: 'library/[name]-[hash]',
    external: [...apart, 'zod', '@ai-sdk/provider'],
  }),
]);
if (!process.argv.includes('--no-types')) execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
