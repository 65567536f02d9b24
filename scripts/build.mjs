// Bundles the command line and the library's doors into dist/. Code that only some commands need becomes a chunk of its own.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { cli: 'src/main/cli.ts' },
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
});
