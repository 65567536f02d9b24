// Texts that the source fixes to the letter: first message, system prompt addition, Markdown result.
import type { Artifact } from '../../contract/artifact.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { FirstMessage, ResultPart } from '../../ports/dialect.ts';
import { formatTruncated, sumTokens } from '../shared/result.ts';
import { formatReason, listArtifacts } from './result.ts';

const maxMemoryChars = 20_000;

export const systemPromptAddition = `# Subagent Context

You are a specialized subagent spawned for a specific task. Key constraints:

1. **Focus**: Complete only the task assigned to you
2. **Bounded**: You have limited iterations - be efficient
3. **No recursion**: You cannot spawn additional subagents
4. **Summary**: Your final message should summarize what you accomplished

When done, provide a clear summary of:
- What you found/accomplished
- Any important decisions made
- Files read/modified
- Recommendations for the parent agent
`;

export function formatFirstMessage({ task, context, files, memories }: FirstMessage): string {
  let text = `# Subagent Task\n\n${task}\n\n`;
  if (context !== null) text += `## Context\n\n${context}\n\n`;
  if (files.length > 0) text += `## Pre-loaded Files\n\n${files.map(formatFile).join('')}`;
  if (memories.length > 0) text += `## Project Knowledge\n\n${formatMemories(memories)}\n`;
  return text;
}

function formatFile({ path, file }: FirstMessage['files'][number]): string {
  if (!file.ok) return `### ${path}\n(failed to read: ${file.reason})\n\n`;
  const notice = file.truncated ? '[cut at 10000 characters; the file has more]\n' : '';
  return `### ${path}\n\`\`\`\n${file.text}\n\`\`\`\n${notice}\n`;
}

/** The newest memories, as many as fit. */
function formatMemories(memories: FirstMessage['memories']): string {
  let text = '';
  for (const memory of memories) {
    const line = `- **${memory.title}**: ${memory.text}\n`;
    if (text.length + line.length > maxMemoryChars) break;
    text += line;
  }
  return text;
}

/**
 * Parts are joined by a line break, so each part omits the last one. The subagent's text is a part of its own: it may be cut, the rest may
 * not.
 */
export function formatResult(outcome: Outcome): ResultPart[] {
  const reason = outcome.success ? '' : `**Reason**: ${formatReason(outcome)}\n\n`;
  const head = `## Subagent Result (${outcome.success ? 'Success' : 'Terminated'})\n\n${reason}`.slice(0, -1);
  const notice = formatTruncated(outcome);
  const artifacts = formatArtifacts(outcome.artifacts);
  const counts = `\n*(${outcome.turns} iterations, ${sumTokens(outcome.tokens)} tokens)*`;
  const run = outcome.runId;
  return [
    { text: head },
    { text: outcome.summary, ...(outcome.summary !== '' && { run }) },
    ...(notice === '' ? [] : [{ text: notice }]),
    ...(artifacts === '' ? [] : [{ text: artifacts, run }]),
    { text: counts },
  ];
}

function formatArtifacts(artifacts: Artifact[]): string {
  const lines = [...listArtifacts(artifacts)].map(([key, shown]) => `- ${key}: ${shown}\n`);
  return lines.length === 0 ? '' : `\n**Artifacts:**\n${lines.join('')}`;
}
