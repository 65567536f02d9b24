// From a tool's parameters to a delegation request.
import type { z } from 'zod';
import { Brief } from '../../contract/brief.ts';
import type { DelegationRequest } from '../../ports/dialect.ts';

export type ParsedBrief = { ok: true; brief: Brief } | { ok: false; message: string };

/** Problems name the tool's parameter (`names`), not the field of the brief. */
export function parseDialectBrief(fields: z.input<typeof Brief>, names: Partial<Record<keyof Brief, string>>, prefix = ''): ParsedBrief {
  const parsed = Brief.safeParse(fields);
  if (parsed.success) return { ok: true, brief: parsed.data };
  const problems = parsed.error.issues.map(({ path: [field, ...rest], message }) => {
    const name = names[field as keyof Brief] ?? String(field);
    return `${prefix}${[name, ...rest].join('.')}: ${message}`;
  });
  return { ok: false, message: problems.join('; ') };
}

export function briefToRequest(parsed: ParsedBrief, waitMs: number | null): DelegationRequest {
  return parsed.ok ? { kind: 'delegate', briefs: [parsed.brief], waitMs } : { kind: 'refuse', message: parsed.message };
}

/** Removes keys whose value is undefined. Briefs and settings must not contain them. */
export function omitUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
