// Checks one definition: the keys of an agent file, in the form that every format is read into, become an agent.
import type { Agent } from '../contract/agent.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import {
  type Field,
  optionalKey,
  type ParserDeps,
  parseEffortField,
  parseFlag,
  parseIsolation,
  parseLimits,
  parseModel,
  parseName,
  parseNames,
  parsePermissionMode,
  parseRules,
  parseText,
  toOneLine,
} from './fields.ts';
import type { LeftOut, RawAgent } from './formats/format.ts';
import { createProblem, type FrontMatterEntry } from './front-matter.ts';
import { judgeKey } from './keys.ts';
import { findUnusableServers, parseServers } from './mcp-servers.ts';
import { describeParameters, describeSkills, parseChecks, parseParameters, parseResult, parseRounds } from './recipe-fields.ts';
import { parseRuns } from './runs.ts';
import { parseTools } from './tool-lists.ts';

export interface ParsedAgent {
  agent: Agent;
  warnings: string[];
  leftOut: LeftOut[];
}

/** Throws `invalid_config` with one line for each problem. `path`: of the file, as messages show it. */
export function parseAgent(head: RawAgent, path: string, deps: ParserDeps): ParsedAgent {
  const problems: string[] = [...head.problems];
  const warnings: string[] = [];
  const fields = new Map<string, FrontMatterEntry>();
  const addProblem = (line: number, message: string) => void problems.push(createProblem(path, line, message).message);
  for (const entry of head.entries) {
    const verdict = judgeKey(entry.key);
    if (verdict.kind === 'known') fields.set(entry.key, entry);
    else if (verdict.kind === 'error') addProblem(entry.line, verdict.message);
    else warnings.push(`line ${entry.line}: ${verdict.message}`);
  }
  const field = <T>(key: string, read: (value: Json) => T): T | undefined => {
    const entry = fields.get(key);
    if (entry === undefined) return undefined;
    try {
      return read(entry.value);
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      addProblem(entry.line, error.message);
      return undefined;
    }
  };
  const tools = parseToolFields(field);
  for (const { key, message } of tools.problems) addProblem(fields.get(key)?.line ?? 1, message);
  field('tools', () => parseRules(tools.before, deps));
  field('disallowedTools', () => parseRules(tools.after, deps));
  const childTools = field('childTools', (value) => parseChildTools(value, isPlanOnly(field), warnings));
  if (!fields.has('name')) addProblem(1, '`name` is missing');
  if (!fields.has('description')) warnings.push('`description` is missing, so other agents cannot tell what this one is for');
  if (head.body === '') addProblem(1, 'there is no prompt; write it below the front matter');
  const rules = [...tools.before, ...(field('rules', (value) => parseRules(value, deps)) ?? []), ...tools.after];
  const limits = parseLimits(field, deps);
  const model = field('model', (value) => parseModel(value, warnings));
  const servers = field('mcpServers', parseServers);
  for (const name of findUnusableServers(servers ?? [], tools.tools))
    warnings.push(`\`mcpServers\` has ${name}, but \`tools\` lists none of its tools, so the agent gets none; add \`mcp__${name}__*\``);
  const parameters = field('parameters', parseParameters);
  const skills = field('skills', (value) => parseNames(value, 'skills'));
  const description = field('description', (value) => parseText(value, 'description')) ?? '';
  const agent: Agent = {
    name: field('name', parseName) ?? 'unnamed',
    description: toOneLine(`${describeParameters(parameters)}${description}`),
    prompt: `${head.body.toWellFormed()}${describeSkills(skills)}`,
    source: head.source,
    ...(tools.tools === undefined ? {} : { tools: skills?.length ? [...new Set([...tools.tools, 'skill'])] : tools.tools }),
    ...optionalKey('parameters', parameters),
    ...optionalKey('result', field('result', parseResult)),
    ...optionalKey('checks', field('checks', parseChecks)),
    ...optionalKey('maxCheckRounds', field('maxCheckRounds', parseRounds)),
    ...(field('hasTask', (value) => parseFlag(value, 'hasTask')) ? { hasTask: true as const } : {}),
    ...optionalKey('childTools', childTools),
    ...(tools.disallowedTools.length === 0 ? {} : { disallowedTools: tools.disallowedTools }),
    ...(model === undefined ? {} : { model }),
    ...optionalKey('effort', field('effort', parseEffortField)),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(rules.length === 0 ? {} : { rules }),
    ...optionalKey('mcpServers', servers),
    ...optionalKey('isolation', field('isolation', parseIsolation)),
    ...optionalKey('runs', field('runs', parseRuns)),
    ...optionalKey(
      'modelInvocation',
      field('modelInvocation', (value) => parseFlag(value, 'modelInvocation')),
    ),
    ...optionalKey(
      'workspaceRules',
      field('workspaceRules', (value) => parseFlag(value, 'workspaceRules')),
    ),
  };
  if (problems.length > 0) throw new RetinueError('invalid_config', problems.join('\n'));
  return { agent, warnings: [...warnings, ...tools.warnings], leftOut: head.leftOut };
}

/** The list has the form of `tools`, without patterns: rules are for those. */
function parseChildTools(value: Json, planOnly: boolean, warnings: string[]): string[] {
  const {
    tools = ['*'],
    before,
    problems,
    warnings: more,
  } = parseTools({ tools: parseNames(value, 'childTools'), disallowedTools: [], planOnly });
  const problem = problems[0]?.message ?? (before.length > 0 ? '`tools`: patterns have no effect on children; use `rules`' : undefined);
  if (problem !== undefined) throw new RetinueError('invalid_config', problem.replaceAll('`tools`', '`childTools`'));
  warnings.push(...more.map((warning) => warning.replaceAll('`tools`', '`childTools`')));
  return tools;
}

function parseToolFields(field: Field) {
  const tools = field('tools', (value) => parseNames(value, 'tools'));
  const disallowedTools = field('disallowedTools', (value) => parseNames(value, 'disallowedTools')) ?? [];
  return parseTools({ tools, disallowedTools, planOnly: isPlanOnly(field) });
}

function isPlanOnly(field: Field): boolean {
  return field('permissionMode', parsePermissionMode) ?? false;
}
