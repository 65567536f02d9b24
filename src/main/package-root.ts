import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json: one up from dist/, two up from src/main/. */
export function findPackageRoot(): string {
  let folder = realpathSync(dirname(fileURLToPath(import.meta.url)));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/** The file that starts this program. */
export function programFile(root: string = findPackageRoot()): string {
  return join(root, 'bin', 'retinue.js');
}
