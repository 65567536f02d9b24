// Tool calls as an editor shows them: kind, title, files and content.
import { isAbsolute, join } from 'node:path';
import type { Json } from '../contract/json.ts';
import { cutMiddle } from '../text/cut.ts';
import { markInvisible } from '../text/invisible.ts';
import { describeCall } from '../views/describe-call.ts';
import type { ToolContent, ToolFields, ToolKind, ToolLocation } from './protocol.ts';

const maxOutputBytes = 16_384;

const kinds: Record<string, ToolKind> = {
  read: 'read',
  list: 'read',
  glob: 'search',
  grep: 'search',
  write: 'edit',
  edit: 'edit',
  bash: 'execute',
  webfetch: 'fetch',
  websearch: 'fetch',
  todo: 'think',
  memory: 'think',
  scratchpad: 'think',
};

/** The fields that are known before a call is executed. */
export function describeToolCall(tool: string, args: Json, workspace: string): ToolFields & { title: string } {
  return {
    title: describeCall(tool, args),
    name: tool,
    kind: kinds[tool] ?? 'other',
    locations: findLocations(args, workspace),
    rawInput: args,
  };
}

function findLocations(args: Json, workspace: string): ToolLocation[] {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return [];
  const { path, offset } = args;
  if (typeof path !== 'string' || path === '') return [];
  return [{ path: absolutePath(path, workspace), ...(typeof offset === 'number' && offset >= 1 ? { line: Math.floor(offset) } : {}) }];
}

export function absolutePath(path: string, workspace: string): string {
  return isAbsolute(path) ? path : join(workspace, path);
}

/** The change that a call of `write` or `edit` asks for; empty for other tools. */
export function proposedDiff(tool: string, args: Json, workspace: string): ToolContent[] {
  if (typeof args !== 'object' || args === null || Array.isArray(args) || typeof args.path !== 'string') return [];
  const path = absolutePath(args.path, workspace);
  if (tool === 'edit' && typeof args.old === 'string' && typeof args.new === 'string')
    return [{ type: 'diff', path, oldText: args.old, newText: args.new }];
  return tool === 'write' && typeof args.content === 'string' ? [{ type: 'diff', path, oldText: null, newText: args.content }] : [];
}

/**
 * A recorded diff, one block per hunk: the runtime records changed lines with some context, not whole files. A diff that was cut ends with a
 * text that says so.
 */
export function diffToContent(diff: string, path: string): ToolContent[] {
  const lines = diff.split('\n');
  const isNew = lines[0] === '--- /dev/null';
  const content: ToolContent[] = [];
  let hunk: { old: string[]; now: string[] } | null = null;
  let sign = ' ';
  const finish = () => {
    if (hunk === null) return;
    const oldText = isNew && hunk.old.length === 0 ? null : hunk.old.join('');
    content.push({ type: 'diff', path, oldText, newText: hunk.now.join('') });
    hunk = null;
  };
  for (const line of lines) {
    if (line.startsWith('@@')) {
      finish();
      hunk = { old: [], now: [] };
    } else if (/^\[diff cut: .*\]$/.test(line)) {
      finish();
      content.push(textContent(line));
    } else if (hunk !== null && line !== '') {
      const { old, now }: { old: string[]; now: string[] } = hunk;
      // `\ No newline at end of file` is about the line before it.
      const hasNoEnd = line.startsWith('\\');
      if (!hasNoEnd) sign = line.charAt(0);
      for (const side of [...(sign === '+' ? [] : [old]), ...(sign === '-' ? [] : [now])])
        side.push(hasNoEnd ? (side.pop() ?? '').slice(0, -1) : `${line.slice(1)}\n`);
    }
  }
  finish();
  return content;
}

export function textContent(text: string): ToolContent {
  return { type: 'content', content: { type: 'text', text } };
}

/** Output of a tool as a block of code: editors render Markdown, and output must not become links or images. */
export function outputContent(output: string): ToolContent[] {
  if (output.trim() === '') return [];
  const { text } = cutMiddle(markInvisible(output), maxOutputBytes);
  const ticks = '`'.repeat(Math.max(3, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length + 1)));
  return [textContent(`${ticks}\n${text}\n${ticks}`)];
}
