// Tool calls of external agents under Retinue's own names, so that rules and approvals apply to them as they are.
import { isAbsolute, relative, sep } from 'node:path';
import type { Json, JsonObject } from '../contract/json.ts';
import { submitTool } from '../contract/tool-names.ts';
import type { ExternalCall } from '../ports/external-agent.ts';

/** What a tool of an agent is here. `internal`: it only changes the agent's own state. */
export type ToolMapping = 'internal' | ((input: JsonObject, text: string) => MappedCall | MappedCall[]);
export interface MappedCall {
  tool: string;
  args: JsonObject;
}

export type ToolTable = Record<string, ToolMapping>;

export interface AgentCall {
  id: string;
  /** The agent's own name of the tool; null if it does not say. */
  name: string | null;
  /** The kind of ACP, if the call is known from there. */
  kind?: string | undefined;
  title?: string | undefined;
  input: unknown;
  diffs?: readonly { path: string; oldText: string | null; newText: string }[] | undefined;
}

export function createCallMapper(agent: string, table: ToolTable, workspace: string): (call: AgentCall) => ExternalCall[] {
  return (call) => {
    const { id, name, input } = call;
    const fields = toObject(input);
    if (name !== null && new RegExp(`(^|[^a-z])${submitTool}$`).test(name)) return [{ id, tool: submitTool, args: fields }];
    const known = name !== null && Object.hasOwn(table, name) ? table[name] : undefined;
    const own = `acp__${agent}__${(name ?? call.title ?? 'unknown').replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 80)}`;
    if (known === 'internal') return [{ id, tool: own, args: fields, isInternal: true }];
    const mapped = known ? [known(fields, typeof input === 'string' ? input : '')].flat() : mapByKind(call, fields);
    if (mapped.length === 0) return [{ id, tool: own, args: fields }];
    return mapped.map(({ tool, args }, n) => ({ id: n === 0 ? id : `${id}#${n}`, tool, args: withRelativePath(args, workspace) }));
  };
}

/** For agents without a table: what ACP says about a call. */
function mapByKind({ kind, title, diffs = [] }: AgentCall, input: JsonObject): MappedCall[] {
  if (diffs.length > 0)
    return diffs.map(({ path, oldText, newText }) =>
      oldText ? { tool: 'edit', args: { path, old: oldText, new: newText } } : { tool: 'write', args: { path, content: newText } },
    );
  const path = firstText(input, ['path', 'file_path', 'filePath', 'abs_path']);
  if (kind === 'execute') return [{ tool: 'bash', args: { command: firstText(input, ['command', 'cmd']) || (title ?? '') } }];
  if (kind === 'read' && path !== '') return [{ tool: 'read', args: { path } }];
  if (kind === 'fetch') return [{ tool: 'webfetch', args: { url: firstText(input, ['url']) || (title ?? '') } }];
  return [];
}

export function firstText(input: JsonObject, names: readonly string[]): string {
  for (const name of names) {
    const value = input[name];
    if (typeof value === 'string') return value;
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return shellJoin(value);
  }
  return '';
}

/** Programs that get a shell command as a list: the command itself, otherwise the quoted list. */
function shellJoin(argv: string[]): string {
  if (argv.length === 3 && /(^|\/)(ba|z)?sh$/.test(argv[0] ?? '') && /^-l?c$/.test(argv[1] ?? '')) return argv[2] as string;
  return argv.map((each) => (/^[\w./:=@%+,-]+$/.test(each) ? each : `'${each.replaceAll("'", "'\\''")}'`)).join(' ');
}

export function optionalText(name: string, value: Json | undefined): JsonObject {
  return typeof value === 'string' && value !== '' ? { [name]: value } : {};
}

/** Tools here take paths relative to the workspace; agents use absolute ones. A path outside stays as it is, and is denied. */
function withRelativePath(args: JsonObject, workspace: string): JsonObject {
  if (typeof args.path !== 'string' || !isAbsolute(args.path)) return args;
  const inside = relative(workspace, args.path);
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return args;
  return { ...args, path: inside === '' ? '.' : inside };
}

/** The files that a patch in the format of `apply_patch` touches. */
export function patchToCalls(patch: string): MappedCall[] {
  const paths = [...patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm)].map(([, file, target]) =>
    (file ?? target ?? '').trim(),
  );
  return [...new Set(paths)].map((path) => ({ tool: 'write', args: { path, content: patch } }));
}

function toObject(input: unknown): JsonObject {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as JsonObject;
  return input === undefined || input === null ? {} : { input: input as Json };
}
