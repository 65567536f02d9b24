// The tests of the command line and of the examples run what users run: the package as it is built, once, before the first test.
import { execFileSync } from 'node:child_process';

export default function setup(): void {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
}
