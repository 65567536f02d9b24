import type { LogEntry } from '../../data/run-store.ts';

/** Entries of this type (empty: any) whose line or whole record contains the text. */
export function filterLog(log: LogEntry[], { type, text }: { type: string; text: string }): LogEntry[] {
  const wanted = text.trim().toLowerCase();
  return log.filter(
    (entry) =>
      (type === '' || entry.fact.type === type) &&
      (wanted === '' ||
        entry.text.toLowerCase().includes(wanted) ||
        ('data' in entry.fact && JSON.stringify(entry.fact.data).toLowerCase().includes(wanted))),
  );
}
