// Questions of runs, put to the person behind the client where it offers that (elicitation).
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Answerer } from '../api/answer-by.ts';
import type { Question } from '../api/api.ts';
import { isoToMs } from '../text/instant.ts';
import { formatArguments, markInvisibleLine } from '../text/invisible.ts';

const words = { once: 'allow this once', always: 'always allow it in this run', no: 'refuse' };
/** More than this no dialog shows whole. Nobody is asked about what they cannot see. */
const maxChars = 4000;
const maxLines = 100;

export function canElicit(server: Server): boolean {
  return server.getClientCapabilities()?.elicitation !== undefined;
}

/** A question that is too long for a dialog stays open: `retinue approve` shows and answers it, until its time. */
export function elicitingAnswerer(server: Server, gone: AbortSignal): Answerer {
  return async (question, signal) => {
    const message = textOf(question);
    if (message === null) return null;
    const answer = await server.elicitInput(
      {
        message,
        requestedSchema: {
          type: 'object',
          properties: { answer: { type: 'string', title: 'Answer', enum: Object.values(words) }, reason: { type: 'string', title: 'Why' } },
          required: ['answer'],
        },
      },
      { signal: AbortSignal.any([signal, gone]), timeout: Math.max(1, isoToMs(question.expiresAt) - isoToMs(question.askedAt)) },
    );
    const said = answer.action === 'accept' ? answer.content?.answer : undefined;
    const reason = typeof answer.content?.reason === 'string' ? { reason: answer.content.reason } : {};
    // Whatever is no clear yes is a no.
    return { allowed: said === words.once || said === words.always, always: said === words.always, ...reason };
  };
}

/** Null where a dialog cannot show all of it. */
function textOf({ agent, label, runId, tool, decision, arguments: args }: Question): string | null {
  const shown = formatArguments(args);
  if (shown.length > maxChars || shown.split('\n').length > maxLines) return null;
  const who = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(markInvisibleLine).join(' ');
  const rule = `rule \`${markInvisibleLine(decision.rule ?? '')}\` of ${markInvisibleLine(decision.owner)}`;
  return `${who} (run ${runId.slice(0, 8)}) asks to use ${markInvisibleLine(tool)}: ${rule}\n\n${shown}`;
}
