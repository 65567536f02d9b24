// `npm run test:install`: installs the package as a user would, from a tarball and from this folder, into temporary folders, and uses it from
// another folder. Run it with an old Node too: plain Node is enough, nothing of node_modules is needed. Needs the registry and `npm ci`.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const base = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-install-')));
const elsewhere = join(base, 'another folder');
const home = join(base, 'home');
mkdirSync(elsewhere);
mkdirSync(home);
// None of this project's node_modules is on the path: `node` is the one of the machine.
const path = (process.env.PATH ?? '').split(':').filter((part) => !part.includes('node_modules'));
const env = { PATH: path.join(':'), HOME: home, NO_COLOR: '1' };
// npm needs the home folder of the user, and what the machine sets for proxies and certificates.
const npmEnv = Object.fromEntries(Object.entries({ ...process.env, PATH: env.PATH }).filter(([name]) => !name.startsWith('npm_')));
/** Ends a command that hangs, such as npm without a network. */
const timeout = 300_000;
// Many starts, because a single one says little on a busy machine.
const starts = 20;

try {
  const tarball = join(base, run('npm', ['pack', '--silent', '--pack-destination', base], root).trim().split('\n').at(-1));
  step('the tarball has every file that the README links to', () => {
    const packed = run('tar', ['tzf', tarball], base).split('\n');
    const linked = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+?)\/?[)#]/g)].map(
      ([, link]) => link,
    );
    const missing = linked.filter((link) => !packed.some((file) => file === `package/${link}` || file.startsWith(`package/${link}/`)));
    if (missing.length > 0) throw new Error(`the tarball lacks ${missing.join(', ')}`);
  });
  await tryInstallation('a tarball', tarball);
  await tryInstallation('this folder', root);
} finally {
  rmSync(base, { recursive: true, force: true });
}

async function tryInstallation(name, source) {
  const prefix = join(base, name);
  mkdirSync(prefix);
  step(`npm install -g from ${name}`, () => run('npm', ['install', '-g', '--prefix', prefix, source], elsewhere));
  const retinue = join(prefix, 'bin', 'retinue');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  step('retinue --version', () => expect(run(retinue, ['--version'], elsewhere), new RegExp(`^${version}\n$`)));
  step(`${starts} starts`, () => {
    const began = performance.now();
    for (let n = 0; n < starts; n++) run(retinue, ['ps'], elsewhere);
    process.stdout.write(`${Math.round((performance.now() - began) / starts)} ms each … `);
  });
  step('retinue demo', () => expect(run(retinue, ['demo'], elsewhere), /Survey of this workspace[\s\S]*not a language model/));
  step('the exit code is kept', () => {
    const { status } = spawnSync(retinue, ['show', 'ffff'], { cwd: elsewhere, env });
    if (status !== 1) throw new Error(`expected 1, got ${status}`);
  });
  step('retinue mcp install', () => {
    expect(run(retinue, ['mcp', 'install', 'codex', '--yes'], elsewhere, true), /tested: the server starts and offers 6 tools/);
    const entry = readFileSync(join(home, '.codex', 'config.toml'), 'utf8');
    const [, command] = /^command = "(.*)"$/m.exec(entry) ?? [];
    if (!command?.startsWith('/') || !existsSync(command) || entry.includes('npx')) throw new Error(`the entry is wrong:\n${entry}`);
  });
  await stepAsync('SIGTERM ends the server', async () => {
    const server = spawn(retinue, ['mcp'], { cwd: elsewhere, env, stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => server.on('exit', (code, signal) => resolve(`${code} ${signal}`)));
    server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await new Promise((resolve) => server.stdout.once('data', resolve));
    server.kill('SIGTERM');
    expect(await ended, /^0 null$/);
  });
  step('the library says which Node it needs, or loads', () => {
    const library = join(prefix, 'lib', 'node_modules', 'retinue', 'dist', 'index.js');
    const code = `import(${JSON.stringify(library)}).then((m) => console.log(typeof m.createRetinue), (e) => console.log(e.message))`;
    expect(run('node', ['-e', code], elsewhere), /^(function|Retinue needs Node 24\.15 or later; this is Node [\d.]+\.)\n$/);
  });
}

function step(what, work) {
  process.stdout.write(`${what} … `);
  work();
  process.stdout.write('ok\n');
}

async function stepAsync(what, work) {
  process.stdout.write(`${what} … `);
  await work();
  process.stdout.write('ok\n');
}

/** Standard output of a command that succeeds; with `both`, standard error too. */
function run(command, args, cwd, both = false) {
  if (both) return execFileSync('sh', ['-c', 'exec "$@" 2>&1', 'sh', command, ...args], { cwd, env, encoding: 'utf8', timeout });
  return execFileSync(command, args, {
    cwd,
    env: command === 'npm' ? npmEnv : env,
    encoding: 'utf8',
    timeout,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function expect(text, pattern) {
  if (!pattern.test(text)) throw new Error(`expected ${pattern}, got:\n${text.slice(-2000)}`);
}
