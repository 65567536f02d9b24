// Sends a message to the user's webhook: one POST with JSON, signed if a key is given. Redirects are not followed.
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NotifyMessage } from './message.ts';

const retryAfterMs = [500, 1_500];

export interface WebhookOptions {
  url: string;
  /** Signs the body with HMAC-SHA-256 in `X-Retinue-Signature`. */
  secret: string | null;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Tries three times. Rejects with the last reason; the address is not repeated, because it may contain a token. */
export async function sendToWebhook(message: NotifyMessage, options: WebhookOptions): Promise<void> {
  const body = JSON.stringify(message);
  for (let attempt = 0; ; attempt++) {
    const failure = await post(body, options);
    if (failure === null) return;
    const wait = retryAfterMs[attempt];
    if (!failure.again || wait === undefined || options.signal.aborted) throw new Error(failure.reason);
    await sleep(wait, undefined, { signal: options.signal }).catch(() => {});
  }
}

async function post(body: string, { url, secret, timeoutMs, signal }: WebhookOptions): Promise<{ reason: string; again: boolean } | null> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'user-agent': 'retinue' };
  if (secret !== null) headers['x-retinue-signature'] = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  try {
    const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal: stop });
    await response.body?.cancel();
    if (response.ok) return null;
    const { status } = response;
    if (status >= 300 && status < 400) return { reason: `it answered with a redirect (${status}), which is not followed`, again: false };
    return { reason: `it answered with ${status}`, again: status === 408 || status === 429 || status >= 500 };
  } catch (error) {
    if (signal.aborted) return { reason: 'it had not answered when this command ended', again: false };
    return { reason: describeFailure(error as Error, timeoutMs), again: true };
  }
}

function describeFailure(error: Error, timeoutMs: number): string {
  if (error.name === 'TimeoutError') return `it did not answer within ${timeoutMs / 1000} s`;
  const cause = error.cause as { code?: string } | undefined;
  return `it cannot be reached${cause?.code === undefined ? '' : `: ${cause.code}`}`;
}
