// Runs the tests in environments in which tests like to fail: `npm run test:environments -- [--all] [NAME…]`.
//
// Each environment gets a fresh copy of this folder with its own `npm ci`. By default only those test files run that depend on the user, the path,
// HOME or the load; `--all` runs `npm test`. A name such as `closed-folder+spaces` combines several environments. Plain Node: nothing of
// node_modules is needed, and an older Node will do.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sensitiveTests = ['test/sandboxes', 'test/hosts/guard.test.ts', 'test/mcp/shutdown.test.ts', 'test/tools/bash.adversarial.test.ts'];

const environments = {
  /** As below /root or a home folder: no other user can reach the clone. */
  'closed-folder': { mode: 0o700 },
  spaces: { folder: "it's a folder with spaces" },
  /** HOME ends in `home`. */
  home: { home: 'home' },
  /** As a user without privileges, who is created for it and removed afterwards. Needs root. */
  'plain-user': { user: 'retinue-tester' },
  /** A busy loop on each core. */
  'busy-machine': { busy: true },
};

const names = process.argv.slice(2).filter((arg) => arg !== '--all');
const all = process.argv.includes('--all');
const unknown = names.flatMap((name) => name.split('+')).filter((name) => !Object.hasOwn(environments, name));
if (unknown.length > 0) {
  process.stderr.write(`no environment ${unknown.join(', ')}; there are ${Object.keys(environments).join(', ')}\n`);
  process.exit(2);
}

const missing = sensitiveTests.filter((path) => !existsSync(join(root, path)));
if (missing.length > 0) throw new Error(`scripts/test-environments.mjs names what does not exist: ${missing.join(', ')}`);

let failed = false;
for (const name of names.length > 0 ? names : Object.keys(environments)) {
  const began = performance.now();
  const { ok, output } = await tryIn(Object.assign({}, ...name.split('+').map((part) => environments[part])));
  if (ok === false) process.stdout.write(`${output}\n`);
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(ok === null ? `${name}: not tried, ${output}\n` : `${name}: ${ok ? 'ok' : 'FAILED'} (${seconds} s)\n`);
  failed ||= ok === false;
}
process.exitCode = failed ? 1 : 0;

/** `ok` is null where the environment cannot be made here; `output` then says why. */
async function tryIn({ mode = 0o755, folder = 'folder', home = null, user = null, busy = false }) {
  if (user !== null && process.getuid?.() !== 0) return { ok: null, output: 'because it needs root' };
  const base = mkdtempSync(join(tmpdir(), 'retinue-environment-'));
  const loops = [];
  let account = null;
  try {
    chmodSync(base, 0o755);
    mkdirSync(join(base, folder));
    const clone = join(base, folder, 'clone');
    cpSync(root, clone, {
      recursive: true,
      filter: (path) => dirname(path) !== root || !['node_modules', 'dist', '.git'].includes(basename(path)),
    });
    const env = { PATH: pathOfNewcomer(), HOME: home === null ? process.env.HOME : join(base, home), NO_COLOR: '1' };
    mkdirSync(env.HOME, { recursive: true });
    if (user !== null) {
      account = createUser(user);
      // What lies in the home folder of root is closed to others.
      env.PATH = env.PATH.split(':')
        .filter((part) => !part.startsWith(`${process.env.HOME}/`))
        .join(':');
      env.HOME = account.home;
      giveTo(account, join(base, folder));
    }
    chmodSync(join(base, folder), mode);
    if (busy)
      for (let core = 0; core < availableParallelism(); core++) loops.push(spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
    const tests = all ? 'npm test' : `npx vitest run ${sensitiveTests.join(' ')}`;
    return await run(`npm ci && ${tests}`, { cwd: clone, env, ...(account && { uid: account.uid, gid: account.gid }) });
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
    rmSync(base, { recursive: true, force: true });
    if (account !== null) removeUser(account);
  }
}

/** As a newcomer has it: nothing of this project's own node_modules is on the path. */
function pathOfNewcomer() {
  return (process.env.PATH ?? '')
    .split(':')
    .filter((part) => !part.includes('node_modules'))
    .join(':');
}

function createUser(prefix) {
  const name = `${prefix}-${process.pid}`;
  execFileSync('useradd', ['--create-home', '--shell', '/bin/sh', name]);
  const id = (flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  const home = execFileSync('getent', ['passwd', name], { encoding: 'utf8' }).split(':')[5];
  return { name, home, uid: id('-u'), gid: id('-g') };
}

/** With what the user has left running, for which `userdel` would refuse. */
function removeUser({ name }) {
  const left = spawnSync('ps', ['-o', 'pid=', '-U', name], { encoding: 'utf8' }).stdout ?? '';
  for (const pid of left.split('\n').map(Number).filter(Boolean)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  const { status } = spawnSync('userdel', ['--force', '--remove', name], { stdio: 'ignore' });
  if (status !== 0) process.stderr.write(`the user ${name} could not be removed: run \`userdel --remove ${name}\`\n`);
}

function giveTo(account, path) {
  chownSync(path, account.uid, account.gid);
  if (lstatSync(path).isDirectory()) for (const entry of readdirSync(path)) giveTo(account, join(path, entry));
}

function run(command, options) {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', `exec 2>&1; ${command}`], { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-1_000_000);
    });
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}
