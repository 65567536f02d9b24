// The `notify` key of the user's configuration: whom to tell when a tree ends or a call waits for approval.
import { z } from 'zod';
import { variableName } from './variable-name.ts';

export const notifyEvents = ['ended', 'question'] as const;
export type NotifyEvent = (typeof notifyEvents)[number];

export const NotifySettings = z
  .strictObject({
    /** A program and its arguments. It is not run by a shell. */
    command: z
      .array(z.string('must be a string').min(1), 'must be a list: the program and its arguments')
      .min(1)
      .refine(([program = '']) => isProgramName(program), 'must begin with an absolute path, a path below ~/, or a name found on PATH'),
    webhook: z.string().refine(isWebhookAddress, 'must be an https address without user name and password (http only for this machine)'),
    /** The variable with the key that signs what the webhook gets. */
    webhookSecretEnv: variableName('RETINUE_WEBHOOK_SECRET'),
    on: z.array(z.enum(notifyEvents), 'must be a list of events'),
  })
  .partial();
export type NotifySettings = z.infer<typeof NotifySettings>;

/** A path relative to the current folder would start what a workspace puts there. */
function isProgramName(program: string): boolean {
  return program.startsWith('/') || program.startsWith('~/') || !program.includes('/');
}

function isWebhookAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}

/** Only the host: the rest of the address of a webhook is often a secret. */
export function describeWebhook(address: string): string {
  const { origin, pathname, search } = new URL(address);
  return pathname === '/' && search === '' ? origin : `${origin}/…`;
}
