import type { Call, Conversation } from './conversation.ts';
import { counted, plain } from './text.ts';

const maxProblems = 6;

/** What could not be looked at, in sentences. Equal failures are told once. */
export function problemsOf(calls: Call[], unseen: string[], talk: Conversation): string[] {
  const failures = new Map<string, { first: string; more: number }>();
  const unmade = new Map<string, number>();
  for (const call of calls) {
    const result = talk.result(call);
    if (result === null) unmade.set(call.tool, (unmade.get(call.tool) ?? 0) + 1);
    if (result === null || result.ok) continue;
    const path = String(call.input.path ?? '.');
    const kind = `${call.tool} ${result.text.replaceAll(path, '')}`;
    const known = failures.get(kind);
    if (known) known.more++;
    else failures.set(kind, { first: `${call.tool} ${path}: ${result.text}`, more: 0 });
  }
  const told = Array.from(failures.values(), ({ first, more }) => plain(first, 240) + (more > 0 ? ` (and ${more} like it)` : ''));
  const left = Array.from(
    unmade,
    ([tool, count]) => `${counted(count, 'call')} of ${tool} not made: it was not offered, or a limit came first`,
  );
  const folders = unseen.length === 0 ? [] : [`${counted(unseen.length, 'folder')} not looked at: there are too many`];
  const all = [...folders, ...left, ...told];
  return all.length <= maxProblems ? all : [...all.slice(0, maxProblems), `and ${all.length - maxProblems} more`];
}
