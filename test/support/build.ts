// The tests of the command line run what users run: the bundle. It is built once, before the first test.
import { execFileSync } from 'node:child_process';

export default function setup(): void {
  try {
    execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'ignore' });
  } catch {
    /* TEMP */
  }
}
