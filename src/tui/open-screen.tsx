// Shows a screen on a terminal until the user leaves it, and leaves the terminal as it was, however it ends.
//
// 1. The screen is drawn in the alternate buffer, so the scrollback stays as it was.
// 2. Signals, a closed terminal, a failure and a suspension all leave the alternate buffer and raw mode first.

import type { ReadStream, WriteStream } from 'node:tty';
import { render, useApp } from 'ink';
import { type ReactNode, useCallback, useEffect } from 'react';
import { App } from './app.tsx';
import type { Timers } from './screen/deps.ts';
import { createScreen, type Screen, type ScreenOptions, type ScreenResult } from './screen/screen.ts';

export interface TerminalStreams {
  stdin: ReadStream;
  stdout: WriteStream;
}

export interface OpenScreenOptions extends Pick<ScreenOptions, 'api' | 'attach' | 'driven' | 'until' | 'colour'> {
  streams: TerminalStreams;
  /** Ends the screen. */
  signal: AbortSignal;
  /** Default: those of the system. */
  timers?: Timers;
}

/** Rejects if drawing fails. */
export async function openScreen({
  streams,
  signal,
  timers = systemTimers,
  ...options
}: OpenScreenOptions): Promise<ScreenResult & { isInterrupted: boolean }> {
  const { stdin, stdout } = streams;
  const screen = createScreen({ ...options, timers, size: { columns: stdout.columns || 80, rows: stdout.rows || 24 } });
  const ink = render(<Suspendable screen={screen} />, {
    ...{ stdin, stdout, alternateScreen: true, interactive: true, exitOnCtrlC: false, patchConsole: false },
    incrementalRendering: true,
    maxFps: 30,
  });
  const exited = ink.waitUntilExit();
  const unmount = () => ink.unmount();
  const closed = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    // A terminal that was closed ends or fails before the signal of the system arrives, or instead of it.
    stdin.once('end', resolve).once('error', () => resolve());
    if (signal.aborted) resolve();
  });
  // Before the error is printed: in the alternate buffer it would be lost.
  process.on('uncaughtExceptionMonitor', unmount);
  try {
    const left = await Promise.race([screen.left, closed, exited]);
    unmount();
    await exited;
    return { ...screen.close(), isInterrupted: left === 'interrupt' };
  } finally {
    screen.close();
    process.off('uncaughtExceptionMonitor', unmount);
  }
}

/** Ctrl-Z, or a signal from elsewhere, hands the terminal back until the process continues. */
function Suspendable({ screen }: { screen: Screen }): ReactNode {
  const { suspendTerminal } = useApp();
  useEffect(() => {
    const suspend = () => {
      const { promise: continued, resolve } = Promise.withResolvers<void>();
      process.once('SIGCONT', resolve);
      suspendTerminal(async () => {
        process.kill(process.pid, 'SIGSTOP');
        await continued;
      }).catch(() => {});
    };
    process.on('SIGTSTP', suspend);
    return () => void process.off('SIGTSTP', suspend);
  }, [suspendTerminal]);
  // The whole group, like the terminal itself would: a shell waits for all of it.
  const onSuspend = useCallback(() => void process.kill(0, 'SIGTSTP'), []);
  const onRedraw = useCallback(() => void suspendTerminal(async () => {}).catch(() => {}), [suspendTerminal]);
  return <App screen={screen} onSuspend={onSuspend} onRedraw={onRedraw} />;
}

const systemTimers: Timers = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
