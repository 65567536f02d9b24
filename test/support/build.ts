// The tests of the command line and of the examples run what users run: the package as it is built. It is built before the first test, unless
// nothing has changed since the last time.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const stamp = 'node_modules/.cache/retinue/built-from';
const built = ['dist/cli.js', 'dist/index.js', 'dist/tree-sitter-bash.wasm', 'dist/types/main/index.d.ts', 'dist/web/index.html'];

export default function setup(): void {
  const inputs = hashInputs();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs && built.every((file) => existsSync(file))) return;
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, inputs);
}

function hashInputs(): string {
  const files = globSync(['src/**/*.{ts,tsx}', 'scripts/build.mjs', 'tsconfig*.json', 'package.json', 'package-lock.json']).sort();
  const hash = createHash('sha256');
  for (const file of [...files, ...globSync('web/**/*.*').sort()]) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
