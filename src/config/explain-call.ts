// How a tool call of an agent would be decided, by the same parsing and rules that runs use. Nothing is executed.
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Subject } from '../ports/subject.ts';
import type { AnyTool } from '../ports/tool.ts';
import { capabilities, decideCall, subjectText } from '../rules/policy.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { skillToolName } from '../tools/index.ts';
import { type ExplainDeps, previewGrant } from './explain-agent.ts';
import { describeShell } from './explain-shell.ts';
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
  // Agents may name the tool for skills where there are none.
  const known = [...new Set([...deps.tools, skillToolName, ...deps.delegationTools, ...capabilities])];
  if (!known.includes(name) && !name.startsWith('mcp__')) throw new RetinueError('unknown_tool', unknownNameMessage('tool', name, known));
  const { agent: found, grant } = await previewGrant(settings, agent, deps);
  const head = { call, tool: name, agent: found.name, offered: grant.tools.includes(name) };
  const tool = deps.toolObjects.find((each) => each.name === name);
  const parsed = await parseSubjects(tool, text, settings.workspace);
  const refused = (reason: string): PolicyVerdict => ({
    ...head,
    action: 'deny',
    rule: null,
    owner: name,
    refused: reason,
    notes: [],
    parts: [],
  });
  if ('refused' in parsed) return refused(parsed.refused);
  const { subjects, preview } = parsed;
  const decision = decideCall(grant.rulesets, { tool: name, subjects });
  // A deny rule is the more useful answer.
  if (preview !== null && decision.action !== 'deny') return refused(preview);
  const decided = subjects.filter(
    (subject) => typeof subject === 'string' || subject.tool !== 'read' || subjectText(subject) === decision.about,
  );
  const parts = decided.map((subject) => ({
    subject: subjectText(subject),
    ...(typeof subject === 'object' && subject.unsafe !== undefined ? { unsafe: subject.unsafe } : {}),
    ...(typeof subject === 'object' && subject.alias ? { alias: true as const } : {}),
    ...decideCall(grant.rulesets, { tool: name, subjects: [subject] }),
  }));
  const notes =
    name === 'bash' && decision.action !== 'deny' && grant.tools.includes(name)
      ? await describeShell(grant, { subjects, text, workspace: settings.workspace, shell: deps.shell })
      : [];
  return { ...head, ...decision, notes, parts };
}

async function parseSubjects(
  tool: AnyTool | undefined,
  text: string | null,
  workspace: string,
): Promise<{ subjects: Subject[]; preview: string | null } | { refused: string }> {
  const argument = tool && mainArgument[tool.name];
  if (text === null) return { subjects: [], preview: tool?.name === 'bash' ? ((await tool.preview?.({}, { workspace })) ?? null) : null };
  if (!tool || !argument) return { subjects: [text], preview: null };
  try {
    await tool.prepare?.();
    const input = { [argument]: text, ...(tool.name === 'glob' || tool.name === 'grep' ? { pattern: '*' } : {}) };
    return { subjects: tool.subjects(input, { workspace }), preview: (await tool.preview?.(input, { workspace })) ?? null };
  } catch (error) {
    if (isRetinueError(error) && error.code === 'denied') return { refused: error.message };
    throw error;
  }
}
