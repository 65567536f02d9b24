import type { z } from 'zod';
import { Brief } from '../../contract/brief.ts';
import type { DelegationRequest } from '../../ports/dialect.ts';

export type Read = { ok: true; brief: Brief } | { ok: false; message: string };

/** A brief from a tool's own parameters. What is wrong with it is told with the parameter's name, not with the brief's. */
export function readBrief(fields: z.input<typeof Brief>, names: Partial<Record<keyof Brief, string>>, prefix = ''): Read {
  const parsed = Brief.safeParse(fields);
  if (parsed.success) return { ok: true, brief: parsed.data };
  const faults = parsed.error.issues.map(({ path: [field, ...rest], message }) => {
    const name = names[field as keyof Brief] ?? String(field);
    return `${prefix}${[name, ...rest].join('.')}: ${message}`;
  });
  return { ok: false, message: faults.join('; ') };
}

export function delegateOne(read: Read, waitMs: number | null): DelegationRequest {
  return read.ok ? { kind: 'delegate', briefs: [read.brief], waitMs } : { kind: 'refuse', message: read.message };
}

/** An object without the keys whose value is undefined: briefs have no such keys. */
export function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
