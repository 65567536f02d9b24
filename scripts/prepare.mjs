// What npm runs after `npm ci`, before `npm pack`, and for `npm install -g .`, which only links this folder: builds dist/. In a fresh clone the
// packages that this needs are installed first. Runs on any Node since 18.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import ensureBuilt from './ensure-built.mjs';

if (existsSync('node_modules/rolldown')) {
  ensureBuilt();
} else {
  // Settings of the outer command, such as --global and --prefix, are not meant for this folder.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_config_(global|prefix|location|omit|ignore_scripts)$/i.test(name)),
  );
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { stdio: 'inherit', env });
}
