// The process as the command line's world. Nothing heavy is imported before it is known that it is needed.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Io, Stop } from '../cli/io.ts';
import type { Ask } from './ask.ts';
import { childWord } from './child-word.ts';
import { detachedWord } from './detached-word.ts';

const maxStdinBytes = 1_048_576;
const maxFileBytes = 1_048_576;

/** Runs one command and sets the exit code; the process ends when nothing is left to do. */
export async function main(argv: string[]): Promise<void> {
  try {
    process.cwd();
  } catch {
    process.stderr.write('retinue: the current directory is gone; change to one that exists\n');
    process.exitCode = 2;
    return;
  }
  if (argv[0] === childWord) return (await import('./child.ts')).serveRun();
  const root = packageRoot();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    process.stdout.write(`${version}\n`);
    return;
  }
  const { program } = await import('../cli/program.ts');
  // A command that waits for another process has nothing open that Node would wait for.
  const alive = setInterval(() => {}, 1 << 30);
  try {
    const io = createIo(root, version);
    process.exitCode = argv[0] === detachedWord ? await background(io) : await program(argv, io);
  } finally {
    clearInterval(alive);
  }
}

/** The process of `run --detach`. Its standard error is a log, where what goes wrong is said as in a terminal. */
async function background(io: Io): Promise<number> {
  try {
    return await (await import('./detach.ts')).serveDetached(io);
  } catch (error) {
    return (await import('../cli/errors.ts')).reportError(error, io);
  }
}

function createIo(root: string, version: string): Io {
  const stops = stopper();
  const { stdout, stderr, env } = process;
  const surroundings = { cwd: process.cwd(), env };
  const files = () => import('./config/files.ts');
  const trust = () => import('./trust.ts');
  const origin = () => import('./origin.ts');
  const every: Io['every'] = (ms, run) => {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  };
  const err: Io['err'] = (text) => void stderr.write(text);
  const installer = () => import('./mcp-install.ts');
  return {
    version,
    out: (text) => void stdout.write(text),
    err,
    outTTY: stdout.isTTY === true,
    errTTY: stderr.isTTY === true && env.TERM !== 'dumb',
    colour: { out: colour(stdout.isTTY), err: colour(stderr.isTTY) },
    columns: () => (stdout.isTTY ? stdout.columns : stderr.columns) || 80,
    rows: () => (stderr.isTTY ? stderr.rows : stdout.rows) || 24,
    readStdin,
    readFile: async (path) => (await files()).readNamed(surroundings.cwd, path, maxFileBytes),
    async *lines(path) {
      yield* (await import('./lines.ts')).readLines(surroundings.cwd, path);
    },
    output: async (path) => (await import('./lines.ts')).openOutput(surroundings.cwd, path),
    findFile: async (workspace, path) => (await files()).inWorkspace(workspace, surroundings.cwd, path),
    onInterrupt: stops.onInterrupt,
    exitNow: (code) => process.exit(code),
    now: Date.now,
    every,
    settings: async (flags) => (await import('./config.ts')).loadSettings(flags, surroundings),
    async open(settings, options) {
      const openApi: Io['open'] = (await import('./compose.ts')).openApi;
      return openApi(settings, options);
    },
    dialect: async (name, settings) => (await import('./dialect.ts')).dialectOf(name, settings),
    serveMcp: async (service) => (await import('./mcp.ts')).serveMcp(service, { version, every, err }),
    mcpInstall: {
      plan: async (request) => (await installer()).planInstall(request, { root, node: process.execPath, ...surroundings }),
      apply: async (installation) => (await installer()).applyInstall(installation),
    },
    demo: async (name) => (await import('./demo.ts')).demoOf(name, { root, ...surroundings }),
    rightsDemo: async (name) => (await import('./demo-rights.ts')).rightsDemo(name),
    crashDemo: async (say) => (await import('./demo-crash.ts')).crashDemo({ root, env }, say),
    explain: async (settings, name) => (await import('./compose.ts')).explain(settings, name),
    policy: async (settings, question) => (await import('./compose.ts')).policy(settings, question),
    memories: async (settings, options) => (await import('./compose.ts')).openMemories(settings, options),
    trust: {
      list: async () => (await trust()).listTrust(env),
      add: async (items) => (await trust()).addTrust(env, items, new Date().toISOString()),
      revoke: async (workspace) => (await trust()).revokeTrust(env, workspace),
    },
    origin: {
      assert: async ({ db }) => (await origin()).assertMadeHere(env, db.path),
      adopt: async ({ db }) => (await origin()).adopt(env, db.path),
    },
    doctor: async (flags) => (await import('./doctor.ts')).examine(flags, surroundings),
    interactive: isInteractive(),
    ask: asker(),
    async detach(request, { workspace }) {
      const program = join(root, 'bin', 'retinue.js');
      return (await import('./detach.ts')).detach(request, { program, workspace, onInterrupt: stops.onInterrupt });
    },
  };
}

/** NO_COLOR and FORCE_COLOR as they are commonly understood: set and not empty counts; FORCE_COLOR=0 is a no. */
function colour(isTTY: boolean | undefined): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return !NO_COLOR && TERM !== 'dumb' && isTTY === true;
}

/**
 * Signals and a closed standard output, as requests to stop. While nobody listens, a signal ends the process as usual and a
 * closed output ends it quietly (`retinue logs last | head`).
 */
function stopper(): Pick<Io, 'onInterrupt'> {
  const handlers = new Set<(why: Stop) => void>();
  let closed = false;
  const tell = (why: Stop) => {
    for (const handler of [...handlers]) handler(why);
  };
  const signals: [NodeJS.Signals, () => void][] = [
    ['SIGINT', () => tell('interrupt')],
    ['SIGTERM', () => tell('terminate')],
    ['SIGHUP', () => tell('terminate')],
  ];
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (closed) return;
    closed = true;
    if (error.code !== 'EPIPE') process.stderr.write(`retinue: standard output cannot be written: ${error.code}\n`);
    if (handlers.size === 0) process.exit(error.code === 'EPIPE' ? 0 : 1);
    tell('closed');
  });
  return {
    onInterrupt(handler) {
      if (handlers.size === 0) for (const [signal, heard] of signals) process.on(signal, heard);
      handlers.add(handler);
      return () => {
        handlers.delete(handler);
        if (handlers.size === 0) for (const [signal, heard] of signals) process.off(signal, heard);
      };
    },
  };
}

/** The question goes to standard error: standard output may be somebody's input. */
function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

function asker(): Io['ask'] {
  let made: Promise<Ask> | null = null;
  return async (question, options) => {
    if (!isInteractive()) return null;
    made ??= import('./ask.ts').then(({ createAsk }) => createAsk({ input: process.stdin, output: process.stderr }));
    const said = await (await made)(question, options?.signal);
    if (said === 'interrupted') process.kill(process.pid, 'SIGINT');
    return typeof said === 'string' ? null : said.line;
  };
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxStdinBytes) continue;
    const { RetinueError } = await import('../contract/error.ts');
    throw new RetinueError('usage', `standard input has more than ${maxStdinBytes} bytes; put it into a file and name that with --file`);
  }
  return Buffer.concat(chunks).toString('utf8').toWellFormed();
}

/** The folder of package.json: one up from dist/, two up from src/main/. */
function packageRoot(): string {
  let folder = realpathSync(dirname(fileURLToPath(import.meta.url)));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
