// Questions of runs, put to the person behind the client where it offers that (elicitation).
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Answerer } from '../api/answer-by.ts';
import type { Question } from '../api/api.ts';
import { msOf } from '../kernel/journal.ts';
import { cleanText } from '../parts/text.ts';

const words = { once: 'allow this once', always: 'always allow it in this run', no: 'refuse' };
/** More than this is not read by anybody in a dialog. */
const maxChars = 4000;

export function canElicit(server: Server): boolean {
  return server.getClientCapabilities()?.elicitation !== undefined;
}

export function elicitingAnswerer(server: Server, gone: AbortSignal): Answerer {
  return async (question, signal) => {
    const answer = await server.elicitInput(
      {
        message: textOf(question),
        requestedSchema: {
          type: 'object',
          properties: { answer: { type: 'string', title: 'Answer', enum: Object.values(words) }, reason: { type: 'string', title: 'Why' } },
          required: ['answer'],
        },
      },
      { signal: AbortSignal.any([signal, gone]), timeout: Math.max(1, msOf(question.expiresAt) - msOf(question.askedAt)) },
    );
    const said = answer.action === 'accept' ? answer.content?.answer : undefined;
    const reason = typeof answer.content?.reason === 'string' ? { reason: answer.content.reason } : {};
    // Whatever is no clear yes is a no.
    return { allowed: said === words.once || said === words.always, always: said === words.always, ...reason };
  };
}

function textOf({ agent, label, runId, tool, decision, arguments: args }: Question): string {
  const values = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.values(args) : [];
  const shown = cleanText(values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(args, null, 2));
  const cut = shown.length <= maxChars ? shown : `${shown.slice(0, maxChars)}\n[… ${shown.length - maxChars} more characters]`;
  const who = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(cleanText).join(' ');
  return `${who} (run ${runId.slice(0, 8)}) asks to use ${tool}: rule \`${decision.rule}\` of ${decision.owner}\n\n${cut}`;
}
