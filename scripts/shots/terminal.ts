// Pictures of a terminal: the program runs in a real one (tmux), and its screen, with colours, becomes a page.
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ansiToHtml, type Palette } from './ansi-to-html.ts';

export interface TerminalOptions {
  columns: number;
  rows: number;
  folder: string;
  env: Record<string, string>;
}

/** Starts a command in a terminal, presses the keys of `press`, and returns the screen with its escape sequences once `isReady` is true for its text. */
export async function captureTerminal(
  command: string,
  { columns, rows, folder, env, press = [], isReady }: TerminalOptions & { press?: string[]; isReady(text: string): boolean },
): Promise<string> {
  const socket = `retinue-shots-${process.pid}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', env, cwd: folder });
  tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), '-e', 'COLORTERM=truecolor', command);
  try {
    tmux('set-option', '-g', 'status', 'off');
    tmux('resize-window', '-x', String(columns), '-y', String(rows));
    for (const key of [null, ...press]) {
      if (key !== null) tmux('send-keys', key);
      for (let tries = 0; !isReady(tmux('capture-pane', '-p')); tries++) {
        if (tries > 300) throw new Error(`the terminal does not show what was expected:\n${tmux('capture-pane', '-p')}`);
        await sleep(100);
      }
      await sleep(300);
    }
    return tmux('capture-pane', '-e', '-p');
  } finally {
    tmux('kill-server');
  }
}

const dark: Palette = {
  background: '#11151c',
  foreground: '#d8dee9',
  dim: '#7b8698',
  colors: ['#3b4252', '#f2777a', '#8fce7e', '#e8c46a', '#7aa6f0', '#c792ea', '#6fcfd6', '#d8dee9'],
};
const light: Palette = {
  background: '#ffffff',
  foreground: '#24292f',
  dim: '#6e7781',
  colors: ['#24292f', '#c0283a', '#1a7f37', '#8a6100', '#0a58ca', '#8250df', '#0f7b83', '#57606a'],
};

/** A page with one window in its body; its size is that of the text. */
export function terminalPage(screen: string, scheme: 'light' | 'dark', title: string): string {
  const palette = scheme === 'dark' ? dark : light;
  const border = scheme === 'dark' ? '#2b3340' : '#d0d7de';
  const bar = scheme === 'dark' ? '#1a202a' : '#f3f5f7';
  return `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 0; background: transparent; display: inline-block; }
.window { border: 1px solid ${border}; border-radius: 10px; overflow: hidden; background: ${palette.background}; }
.bar { display: flex; align-items: center; gap: 8px; padding: 9px 14px; background: ${bar}; border-bottom: 1px solid ${border}; }
.bar i { width: 11px; height: 11px; border-radius: 50%; background: ${border}; }
.bar span { font: 12px 'DejaVu Sans', sans-serif; color: ${palette.dim}; margin-left: 8px; }
pre { margin: 0; padding: 14px 16px; font: 14px/1.4 'DejaVu Sans Mono', monospace; color: ${palette.foreground}; }
</style><div class="window"><div class="bar"><i></i><i></i><i></i><span>${title}</span></div><pre>${ansiToHtml(screen, palette)}</pre></div>`;
}
