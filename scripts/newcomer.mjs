// `npm run newcomer`: follows the README in a fresh clone of the committed state. Prints each step and stops at the first that does not do
// what the README says.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const source = execFileSync('git', ['rev-parse', '--show-toplevel'], { encoding: 'utf8' }).trim();
const folder = mkdtempSync(join(tmpdir(), 'retinue-newcomer-'));
const clone = join(folder, 'clone');
// A newcomer has none of this project's node_modules on the path.
const path = (process.env.PATH ?? '')
  .split(':')
  .filter((part) => !part.includes('node_modules'))
  .join(':');
const env = { HOME: process.env.HOME, PATH: path, NO_COLOR: '1' };

function step(what, command, args, expected) {
  process.stdout.write(`${what} … `);
  const began = performance.now();
  const out = execFileSync('sh', ['-c', `${command} ${args.map((arg) => `'${arg}'`).join(' ')} 2>&1`], {
    cwd: clone,
    env,
    encoding: 'utf8',
  });
  if (!expected.test(out)) throw new Error(`${what}: expected ${expected}, got:\n${out.slice(-2000)}`);
  process.stdout.write(`ok (${((performance.now() - began) / 1000).toFixed(1)} s)\n`);
}

try {
  execFileSync('git', ['clone', '-q', source, clone]);
  step('npm ci', 'npm ci', [], /added \d+ packages/);
  step('npm start', 'npm start', [], /# Survey of Retinue[\s\S]*not a language model[\s\S]*To use a language model:/);
  step('--help', 'npx retinue', ['--help'], /Run\n[\s\S]*Watch\n[\s\S]*Control\n/);
  step('ps --all', 'npx retinue', ['ps', '--all'], /completed/);
  step('logs last', 'npx retinue', ['logs', 'last'], /run\.ended/);
  step('show last', 'npx retinue', ['show', 'last', '--json'], /"status": ?"completed"/);
  step('doctor', 'npx retinue', ['doctor'], /node/);
  writeFileSync(join(clone, 'hello.json'), JSON.stringify({ runs: [{ steps: [{ text: 'Hello.' }] }] }));
  step('run', 'npx retinue', ['run', '--model', 'script/hello.json', 'say hello'], /Hello\./);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
