// In a clone, npm does not link a package's own command: this does, so that `npx retinue` works after `npm ci` alone.
import { existsSync, rmSync, symlinkSync } from 'node:fs';

const link = 'node_modules/.bin/retinue';
if (existsSync('node_modules/.bin')) {
  rmSync(link, { force: true });
  symlinkSync('../../bin/retinue.js', link);
}
