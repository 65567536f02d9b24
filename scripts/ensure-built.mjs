// Builds dist/ unless nothing has changed since the last time. Runs on any Node since 18.17.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const stamp = 'node_modules/.cache/retinue/built-from';
const folders = ['src', 'web', 'examples/demo'];
const files = [
  'scripts/build.mjs',
  'scripts/defer-constants.mjs',
  'scripts/english-only.mjs',
  'scripts/lazy-prices.mjs',
  'scripts/look-up-builtins.mjs',
  'scripts/slim-undici.mjs',
  'scripts/syntax.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'package-lock.json',
];
const built = ['dist/cli.js', 'dist/index.js', 'dist/tree-sitter-bash.wasm', 'dist/types/main/index.d.ts', 'dist/web/index.html'];

/** With the working directory in the folder of the package. */
export default function ensureBuilt() {
  const inputs = hashInputs();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs && built.every((file) => existsSync(file))) return;
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, inputs);
}

function hashInputs() {
  const hash = createHash('sha256');
  const found = folders.flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)));
  for (const file of [...files, ...found].sort())
    if (statSync(file).isFile()) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
