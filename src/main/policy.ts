// How a call would be decided for an agent, by the very reading and rules that a run uses. Nothing is executed.
import type { PolicyVerdict } from '../cli/explanation.ts';
import type { Settings } from '../cli/settings.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Subject } from '../ports/subject.ts';
import type { AnyTool } from '../ports/tool.ts';
import { decideCall, subjectText } from '../rules/policy.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { type ExplainGround, grantOf } from './explain.ts';

/** The argument that `tool:TEXT` stands for. Of other tools TEXT is what rules match against. */
const named: Record<string, string> = {
  ...{ bash: 'command', read: 'path', write: 'path', edit: 'path', list: 'path', glob: 'path', grep: 'path' },
  ...{ webfetch: 'url', websearch: 'query' },
};

export interface PolicyQuestion {
  /** `tool` or `tool:TEXT`. */
  call: string;
  agent: string;
}

/** Rejects with `unknown_tool`, `unknown_agent` or `invalid_config`. */
export async function testPolicy(
  settings: Settings,
  { call, agent }: PolicyQuestion,
  given: ExplainGround & { made: AnyTool[] },
): Promise<PolicyVerdict> {
  const colon = call.indexOf(':');
  const name = (colon === -1 ? call : call.slice(0, colon)).trim();
  const text = colon === -1 ? null : call.slice(colon + 1).trim();
  const known = [...given.tools, ...given.delegationTools, 'network', 'git'];
  if (!known.includes(name) && !name.startsWith('mcp__')) throw new RetinueError('unknown_tool', unknownNameMessage('tool', name, known));
  const { agent: found, grant } = await grantOf(settings, agent, given);
  const head = { call, tool: name, agent: found.name, offered: grant.tools.includes(name) };
  const read = await subjectsOf(
    given.made.find((tool) => tool.name === name),
    text,
    settings.workspace,
  );
  if ('refused' in read) return { ...head, action: 'deny', rule: null, owner: name, refused: read.refused, parts: [] };
  const { subjects } = read;
  const parts = subjects.map((subject) => ({
    subject: subjectText(subject),
    ...(typeof subject === 'object' && subject.unsafe !== undefined ? { unsafe: subject.unsafe } : {}),
    ...(typeof subject === 'object' && subject.alias ? { alias: true as const } : {}),
    ...decideCall(grant.rulesets, { tool: name, subjects: [subject] }),
  }));
  return { ...head, ...decideCall(grant.rulesets, { tool: name, subjects }), parts };
}

async function subjectsOf(
  tool: AnyTool | undefined,
  text: string | null,
  workspace: string,
): Promise<{ subjects: Subject[] } | { refused: string }> {
  if (text === null) return { subjects: [] };
  const key = tool && named[tool.name];
  if (!tool || !key) return { subjects: [text] };
  try {
    await tool.prepare?.();
    return { subjects: tool.subjects({ [key]: text, pattern: '*' }, { workspace }) };
  } catch (error) {
    if (isRetinueError(error) && error.code === 'denied') return { refused: error.message };
    throw error;
  }
}
