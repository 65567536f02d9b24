// Sends notifications beside the runs: a failure is one line for the user and never affects a run. A bounded number is sent at once, and a bounded
// number waits.
import type { NotifySettings } from '../config/notify-settings.ts';
import { sendToCommand } from './command.ts';
import type { NotifyMessage } from './message.ts';
import { sendToWebhook } from './webhook.ts';

const maxConcurrent = 4;
const maxWaiting = 100;
const defaultTimeouts = { commandMs: 10_000, webhookMs: 5_000, closeMs: 5_000 };

export interface NotifierOptions {
  settings: NotifySettings;
  env: Record<string, string | undefined>;
  home: string;
  /** Called with one line for each notification that could not be sent. */
  warn(message: string): void;
  timeouts?: Partial<typeof defaultTimeouts>;
}

export interface Sent {
  to: 'command' | 'webhook';
  /** Null if it was sent. */
  failure: string | null;
}

export interface Notifier {
  notify(message: NotifyMessage): void;
  /** Sends at once and reports the results. */
  send(message: NotifyMessage): Promise<Sent[]>;
  /** Waits for what is being sent, up to 5 seconds; then stops it. */
  close(): Promise<void>;
}

export function createNotifier(options: NotifierOptions): Notifier {
  const { settings, warn } = options;
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const stop = new AbortController();
  const waiting: NotifyMessage[] = [];
  const sending = new Set<Promise<void>>();
  let dropped = 0;

  async function send(message: NotifyMessage): Promise<Sent[]> {
    const { command, webhook } = settings;
    const attempts: [Sent['to'], Promise<void>][] = [];
    if (command) attempts.push(['command', runCommand(message, command)]);
    if (webhook !== undefined) attempts.push(['webhook', callWebhook(message, webhook)]);
    return Promise.all(
      attempts.map(async ([to, attempt]) => ({
        to,
        failure: await attempt.then(
          () => null,
          (error: unknown) => String((error as Error)?.message ?? error),
        ),
      })),
    );
  }

  async function runCommand(message: NotifyMessage, command: readonly string[]): Promise<void> {
    const { env, home } = options;
    await sendToCommand(message, { command, env, home, timeoutMs: timeouts.commandMs, signal: stop.signal });
  }

  /** Not unsigned if it should be signed: the receiver could not tell it from a forged one. */
  async function callWebhook(message: NotifyMessage, url: string): Promise<void> {
    const name = settings.webhookSecretEnv;
    const secret = name === undefined ? null : options.env[name];
    if (secret === undefined || secret === '') throw new Error(`the variable ${name} with its key is not set`);
    await sendToWebhook(message, { url, secret, timeoutMs: timeouts.webhookMs, signal: stop.signal });
  }

  async function sendAndReport(message: NotifyMessage): Promise<void> {
    for (const { to, failure } of await send(message))
      if (failure !== null) warn(`the notification ${to} of run ${message.runId} failed: ${failure}`);
  }

  function startNext(): void {
    while (sending.size < maxConcurrent) {
      const message = waiting.shift();
      if (message === undefined) return;
      const sent = sendAndReport(message).finally(() => {
        sending.delete(sent);
        startNext();
      });
      sending.add(sent);
    }
  }

  async function finish(): Promise<void> {
    while (sending.size > 0) await Promise.all(sending);
  }

  return {
    send,
    notify(message) {
      if (waiting.length >= maxWaiting) {
        if (dropped++ === 0) warn('notifications are left out: they come faster than they can be sent');
        return;
      }
      waiting.push(message);
      startNext();
    },
    async close() {
      const timer = setTimeout(() => {
        const late = waiting.splice(0).length;
        if (late > 0) warn(`${late} notifications were not sent: this command ended before`);
        stop.abort();
      }, timeouts.closeMs);
      await finish();
      clearTimeout(timer);
    },
  };
}
