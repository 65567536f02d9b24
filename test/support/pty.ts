// The real program on a real terminal, which `script` of util-linux makes; what it writes is shown by a terminal made of memory.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTerminal, type Terminal } from './terminal.ts';

const program = resolve(import.meta.dirname, '../../bin/retinue.js');

/** The flags of `script` differ elsewhere. */
export const hasPty = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

export interface PtyOptions {
  /** The program's folder; files that say how it ended are written there. */
  folder: string;
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

export interface Pty {
  terminal: Terminal;
  /** Everything that was written. */
  output(): string;
  type(keys: string): void;
  resize(columns: number, rows: number): Promise<void>;
  /** Waits until the screen shows it. Rejects with the screen after a minute. */
  until(text: string | RegExp): Promise<void>;
  /** The process of the program. */
  pid(): Promise<number>;
  /** The process that makes the terminal. */
  host: ChildProcess;
  /** Its exit code, and whether the terminal treats keys and output as before. */
  ended(): Promise<{ code: number; isRestored: boolean }>;
  [Symbol.asyncDispose](): Promise<void>;
}

const limitMs = 60_000;

export function startOnPty(args: string[], { folder, columns = 100, rows = 30, env = {} }: PtyOptions): Pty {
  const quoted = [process.execPath, program, ...args].map((each) => `'${each.replaceAll("'", `'\\''`)}'`).join(' ');
  const name = `pty-${Math.random().toString(16).slice(2)}`;
  const file = (what: string) => join(folder, `${name}.${what}`);
  // The inner shell is replaced by the program, whose process it names. The outer one stays alive at Ctrl-C and SIGTERM.
  const run = `sh -c 'echo $$ > ${name}.pid; exec "$@"' run ${quoted}`;
  const command = `trap : INT TERM; stty cols ${columns} rows ${rows}; stty -g > ${name}.before; tty > ${name}.tty; ${run}; echo $? > ${name}.code; stty -g > ${name}.after; exit 0`;
  const variables = {
    PATH: process.env.PATH,
    HOME: folder,
    TERM: 'xterm-256color',
    SHELL: '/bin/sh',
    RETINUE_MODEL: 'script/script.json',
    ...env,
  };
  const host = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env: variables, stdio: ['pipe', 'pipe', 'ignore'] });
  host.stdin.on('error', () => {});
  // What waits for the terminal fails with what it shows.
  host.on('error', () => {});
  const terminal = createTerminal({ columns, rows });
  let output = '';
  host.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    terminal.write(text);
  });
  const closed = new Promise<void>((done) => host.once('close', () => done()));

  async function read(what: string): Promise<string> {
    const end = Date.now() + limitMs;
    while (!existsSync(file(what)) || readFileSync(file(what), 'utf8') === '') {
      if (Date.now() > end) throw new Error(`no ${what}; the terminal shows\n${terminal.text()}`);
      await sleep(10);
    }
    return readFileSync(file(what), 'utf8');
  }

  return {
    terminal,
    host,
    output: () => output,
    type: (keys) => void host.stdin.write(keys),
    async resize(newColumns, newRows) {
      terminal.resize(newColumns, newRows);
      const device = (await read('tty')).trim();
      spawnSync('stty', ['-F', device, 'cols', String(newColumns), 'rows', String(newRows)]);
    },
    async until(text) {
      const end = Date.now() + limitMs;
      const isShown = () => (typeof text === 'string' ? terminal.text().includes(text) : text.test(terminal.text()));
      while (!isShown()) {
        if (Date.now() > end) throw new Error(`the terminal does not show ${text} but\n${terminal.text()}`);
        await sleep(10);
      }
    },
    pid: async () => Number(await read('pid')),
    async ended() {
      const code = Number(await read('code'));
      return { code, isRestored: (await read('before')) === (await read('after')) };
    },
    async [Symbol.asyncDispose]() {
      host.kill('SIGKILL');
      if (existsSync(file('pid'))) killQuietly(Number(readFileSync(file('pid'), 'utf8')));
      await closed;
    },
  };
}

function killQuietly(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL');
  } catch {}
}
