// One agent file: front matter becomes a definition, the text below it the prompt.
import type { Agent } from '../contract/agent.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { type Field, flag, limitsOf, listOf, modelOf, nameOf, oneLine, optional, planOnly, type Reading, rulesOf, text } from './fields.ts';
import { type Entry, problemAt, readFrontMatter } from './front-matter.ts';
import { judgeKey } from './keys.ts';
import { serversOf, unnamed } from './servers.ts';
import { readTools } from './tools.ts';

export interface AgentFile {
  /** As it is shown. */
  path: string;
  text: string;
}

export interface ReadAgent {
  /** Null where the file is none of an agent. */
  agent: Agent | null;
  warnings: string[];
}

/** Throws `invalid_config` with every problem of the file on a line of its own. */
export function readAgent(file: AgentFile, reading: Reading): ReadAgent {
  const head = readFrontMatter(file.path, file.text);
  if (head === null) return { agent: null, warnings: ['no front matter, so it is not taken for an agent'] };
  const problems: string[] = [];
  const warnings: string[] = [];
  const fields = new Map<string, Entry>();
  const wrong = (line: number, message: string) => void problems.push(problemAt(file.path, line, message).message);
  for (const entry of head.entries) {
    const verdict = judgeKey(entry.key, reading.nearest);
    if (verdict.kind === 'counts') fields.set(entry.key, entry);
    else if (verdict.kind === 'error') wrong(entry.line, verdict.message);
    else warnings.push(`line ${entry.line}: ${verdict.message}`);
  }
  const field = <T>(key: string, read: (value: Json) => T): T | undefined => {
    const entry = fields.get(key);
    if (entry === undefined) return undefined;
    try {
      return read(entry.value);
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      wrong(entry.line, error.message);
      return undefined;
    }
  };
  const tools = toolLists(field, reading);
  for (const { key, message } of tools.problems) wrong(fields.get(key)?.line ?? 1, message);
  field('tools', () => rulesOf(tools.before, reading));
  field('disallowedTools', () => rulesOf(tools.after, reading));
  if (!fields.has('name')) wrong(1, '`name` is missing');
  if (!fields.has('description')) warnings.push('`description` is missing: whoever delegates cannot tell what the agent is for');
  if (head.body === '') wrong(1, 'there is no prompt: it stands below the front matter');
  const rules = [...tools.before, ...(field('rules', (value) => rulesOf(value, reading)) ?? []), ...tools.after];
  const limits = limitsOf(field, reading);
  const model = field('model', (value) => modelOf(value, warnings));
  const servers = field('mcpServers', (value) => serversOf(value, reading));
  for (const name of unnamed(servers ?? [], tools.tools))
    warnings.push(`\`mcpServers\` has ${name}, but \`tools\` names none of its tools, so it gets none; add \`mcp__${name}__*\``);
  const agent: Agent = {
    name: field('name', nameOf) ?? 'unnamed',
    description: field('description', (value) => oneLine(text(value, 'description'))) ?? '',
    prompt: head.body.toWellFormed(),
    source: file.path,
    ...(tools.tools === undefined ? {} : { tools: tools.tools }),
    ...(tools.disallowedTools.length === 0 ? {} : { disallowedTools: tools.disallowedTools }),
    ...(model === undefined ? {} : { model }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(rules.length === 0 ? {} : { rules }),
    ...optional('mcpServers', servers),
    ...optional(
      'workspaceRules',
      field('workspaceRules', (value) => flag(value, 'workspaceRules')),
    ),
  };
  if (problems.length > 0) throw new RetinueError('invalid_config', problems.join('\n'));
  return { agent, warnings: [...warnings, ...tools.warnings] };
}

function toolLists(field: Field, { nearest }: Reading) {
  const tools = field('tools', (value) => listOf(value, 'tools'));
  const disallowedTools = field('disallowedTools', (value) => listOf(value, 'disallowedTools')) ?? [];
  return readTools({ tools, disallowedTools, planOnly: field('permissionMode', planOnly) ?? false, nearest });
}
