// Puts approval questions of runs to the client's user through MCP elicitation, if the client supports it.
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { Question } from '../api/api.ts';
import type { Answerer } from '../api/forward-questions.ts';
import { isoToMs } from '../text/instant.ts';
import { formatArguments, markInvisibleLine } from '../text/invisible.ts';
import type { QuestionRoute } from './question-route.ts';

const choices = { once: 'allow this once', always: 'always allow it in this run', refuse: 'refuse' };
/** Longer questions do not fit into a dialog, and users must see everything that they approve. */
const maxChars = 4000;
const maxLines = 100;

export function canElicit(server: Server): boolean {
  return server.getClientCapabilities()?.elicitation !== undefined;
}

/** A question that is too long for a dialog stays open until it expires, so that `retinue approve` can show and answer it. */
export function createElicitAnswerer(server: Server, disconnected: AbortSignal, route?: QuestionRoute): Answerer {
  return async (question, given) => {
    const message = formatQuestion(question);
    if (message === null) return null;
    const signal = AbortSignal.any([given, disconnected]);
    const call = route ? await route.find(signal) : null;
    const result = await server
      .elicitInput(
        {
          message,
          requestedSchema: {
            type: 'object',
            properties: {
              answer: { type: 'string', title: 'Answer', enum: Object.values(choices) },
              reason: { type: 'string', title: 'Why' },
            },
            required: ['answer'],
          },
        },
        {
          signal,
          timeout: Math.max(1, isoToMs(question.expiresAt) - isoToMs(question.askedAt)),
          ...(call === null ? {} : { relatedRequestId: call }),
        },
      )
      .catch(failureToReason);
    if (typeof result === 'string') return { allowed: false, by: 'the client', reason: result };
    const { action, content } = result;
    const choice = action === 'accept' ? content?.answer : undefined;
    const reason = typeof content?.reason === 'string' ? { reason: content.reason } : {};
    // Everything except a clear yes is a no.
    return { allowed: choice === choices.once || choice === choices.always, always: choice === choices.always, ...reason };
  };
}

/** An error or an invalid answer comes from the client, which refuses so. If it was lost instead, the question stays open. */
function failureToReason(error: unknown): string {
  const lost: number[] = [ErrorCode.ConnectionClosed, ErrorCode.RequestTimeout];
  if (!(error instanceof McpError) || lost.includes(error.code)) throw error;
  return `the approval request failed (${error.message})`;
}

/** Null if a dialog cannot show the whole question. */
function formatQuestion({ agent, label, runId, tool, decision, arguments: args }: Question): string | null {
  const shown = formatArguments(args);
  if (shown.length > maxChars || shown.split('\n').length > maxLines) return null;
  const who = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(markInvisibleLine).join(' ');
  const rule = `rule \`${markInvisibleLine(decision.rule ?? '')}\` of ${markInvisibleLine(decision.owner)}`;
  return `${who} (run ${runId.slice(0, 8)}) asks to use ${markInvisibleLine(tool)}: ${rule}\n\n${shown}`;
}
