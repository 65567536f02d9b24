// The prompts of external agents.
import type { FactData } from '../../contract/fact.ts';
import { submitTool } from '../../contract/tool-names.ts';
import type { ConversationEntry, PinnedParts } from '../../conversation/request.ts';
import { contentToText } from '../../conversation/tool-calls.ts';
import type { ModelWork, Run } from '../run.ts';
import { loopVersionOf, pendingInput, startedFact } from '../state/state.ts';

const maxTranscriptChars = 60_000;

/** The agent's instructions, the conversation that the run continues, the brief and how to hand in a structured result. */
export function composeFirstPrompt(run: Run, past: PinnedParts['history']): string {
  const { prompt } = (run.work as ModelWork).agent;
  const { schema } = run.brief.result ?? {};
  const earlier = past.length === 0 ? '' : `This task continues an earlier conversation:\n\n${cutStart(past.flatMap(messageToLines))}`;
  const parts = [prompt, earlier, startedFact(run.state)?.data.first ?? run.brief.task];
  if (schema)
    parts.push(
      `When you are done, call the tool ${submitTool} of the MCP server retinue with the result. If you do not have it, end your last ` +
        `answer with one block that begins with \`\`\`json. The result must match this JSON Schema:\n${JSON.stringify(schema)}`,
    );
  return parts.filter((part) => part !== '').join('\n\n');
}

/** What has happened since the last prompt. `how`: given for the first prompt of a process that took the run over. */
export function composeNextPrompt(run: Run, past: PinnedParts['history'], how: FactData['session.opened']['how'] | null): string {
  const { state } = run;
  const { calls, inbox, nudge } = pendingInput(state);
  const texts = loopVersionOf(state);
  const parts: string[] = [];
  if (how === 'new')
    parts.push(`${composeFirstPrompt(run, past)}\n\nYour work was interrupted. This is what happened so far:\n\n${renderTranscript(run)}`);
  else if (how !== null) parts.push('Your work was interrupted and continues now.');
  for (const { tool, finished } of calls)
    if (finished && (finished.status === 'denied' || finished.status === 'unknown' || finished.status === 'cancelled'))
      parts.push(`Your call of ${tool}: ${finished.output}`);
  for (const item of inbox) if (item.kind === 'message') parts.push(texts.message(item.from, item.text));
  if (nudge !== null) parts.push(nudge);
  if (nudge !== null && state.created.data.brief.result?.schema)
    parts.push('If you do not have this tool, answer with the result in one block that begins with ```json.');
  if (inbox.length === 0 && nudge === null) parts.push('Continue with the task.');
  return parts.join('\n\n');
}

/** The conversation as text, for an agent that has lost it. The end is more important than the beginning. */
function renderTranscript({ state }: Run): string {
  return cutStart(state.conversation.entries.slice(1).flatMap(entryToLines));
}

function cutStart(lines: string[]): string {
  return lines.join('\n').slice(-maxTranscriptChars);
}

function messageToLines({ role, content }: PinnedParts['history'][number]): string[] {
  if (role === 'system' || typeof content === 'string') return [];
  return content.flatMap((part) => {
    if (part.type === 'text') return [`${role === 'user' ? 'User' : 'You'}: ${part.text}`];
    if (part.type === 'tool-call') return [`Call of ${part.toolName} with ${JSON.stringify(part.input).slice(0, 500)}`];
    return part.type === 'tool-result' ? [`Result of ${part.toolName}: ${JSON.stringify(part.output).slice(0, 1000)}`] : [];
  });
}

function entryToLines(entry: ConversationEntry): string[] {
  if (entry.kind === 'user') return [];
  if (entry.kind === 'assistant') {
    const text = contentToText(entry.content);
    return text === '' ? [] : [`You: ${text}`];
  }
  return entry.calls.map(
    ({ tool, arguments: args, finished }) =>
      `Call of ${tool} with ${JSON.stringify(args).slice(0, 500)}: ${finished?.status ?? 'open'}. ${(finished?.output ?? '').slice(0, 1000)}`,
  );
}
