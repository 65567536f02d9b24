// How a tool call of an agent would be decided, by the same parsing and rules that runs use. Nothing is executed.
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Subject } from '../ports/subject.ts';
import type { AnyTool } from '../ports/tool.ts';
import { capabilities, decideCall, subjectText } from '../rules/policy.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { type ExplainDeps, previewGrant } from './explain-agent.ts';
import type { PolicyVerdict } from './explanation.ts';
import type { Settings } from './settings.ts';

/** The argument that TEXT stands for in `tool:TEXT`. For other tools TEXT is the subject that rules match. */
const mainArgument: Record<string, string> = {
  ...{ bash: 'command', read: 'path', write: 'path', edit: 'path', list: 'path', glob: 'path', grep: 'path' },
  ...{ webfetch: 'url', websearch: 'query' },
};

export interface PolicyQuestion {
  /** `tool` or `tool:TEXT`. */
  call: string;
  agent: string;
}

export interface ExplainCallDeps extends ExplainDeps {
  toolObjects: AnyTool[];
}

/** Rejects with `unknown_tool`, `unknown_agent` or `invalid_config`. */
export async function explainCall(settings: Settings, { call, agent }: PolicyQuestion, deps: ExplainCallDeps): Promise<PolicyVerdict> {
  const colon = call.indexOf(':');
  const name = (colon === -1 ? call : call.slice(0, colon)).trim();
  const text = colon === -1 ? null : call.slice(colon + 1).trim();
  const known = [...deps.tools, ...deps.delegationTools, ...capabilities];
  if (!known.includes(name) && !name.startsWith('mcp__')) throw new RetinueError('unknown_tool', unknownNameMessage('tool', name, known));
  const { agent: found, grant } = await previewGrant(settings, agent, deps);
  const head = { call, tool: name, agent: found.name, offered: grant.tools.includes(name) };
  const tool = deps.toolObjects.find((each) => each.name === name);
  const parsed = await parseSubjects(tool, text, settings.workspace);
  if ('refused' in parsed) return { ...head, action: 'deny', rule: null, owner: name, refused: parsed.refused, parts: [] };
  const { subjects } = parsed;
  const parts = subjects.map((subject) => ({
    subject: subjectText(subject),
    ...(typeof subject === 'object' && subject.unsafe !== undefined ? { unsafe: subject.unsafe } : {}),
    ...(typeof subject === 'object' && subject.alias ? { alias: true as const } : {}),
    ...decideCall(grant.rulesets, { tool: name, subjects: [subject] }),
  }));
  return { ...head, ...decideCall(grant.rulesets, { tool: name, subjects }), parts };
}

async function parseSubjects(
  tool: AnyTool | undefined,
  text: string | null,
  workspace: string,
): Promise<{ subjects: Subject[] } | { refused: string }> {
  if (text === null) return { subjects: [] };
  const argument = tool && mainArgument[tool.name];
  if (!tool || !argument) return { subjects: [text] };
  try {
    await tool.prepare?.();
    return { subjects: tool.subjects({ [argument]: text, pattern: '*' }, { workspace }) };
  } catch (error) {
    if (isRetinueError(error) && error.code === 'denied') return { refused: error.message };
    throw error;
  }
}
