import type { Question } from '../api/api.ts';
import { clean, cleanJson, cleanLine } from './clean.ts';
import { duration, paint, shortId } from './format.ts';
import type { Io } from './io.ts';

/** More than this is not read by anybody on a terminal; the whole is in the facts. */
const maxChars = 8000;

/** What would be done, by whom, and why that is asked. Nothing of it can pass for a line of ours: it is cleaned and set in. */
export function questionText(question: Question, io: Pick<Io, 'colour'>): string {
  const { tool, decision, runId, agent, label, askedAt, expiresAt } = question;
  const who = [agent ?? 'a run', ...(label === null ? [] : [`“${label}”`])].map(cleanLine).join(' ');
  const about = decision.about === undefined ? '' : `, about \`${cleanLine(decision.about)}\``;
  const head = `${who} (${shortId(runId)}) asks to use ${cleanLine(tool)}: rule \`${cleanLine(decision.rule ?? '')}\` of ${cleanLine(decision.owner)}${about}`;
  const lines = argumentsText(question).split('\n');
  return [
    paint(io.colour.err, 'bold', head),
    ...lines.map((line) => `    ${line}`),
    `  it waits ${duration(Date.parse(expiresAt) - Date.parse(askedAt))} for an answer`,
  ].join('\n');
}

/** The arguments whole, where they are not too much to read; a lone text, such as a command, as it is. */
export function argumentsText({ arguments: args }: Pick<Question, 'arguments'>): string {
  const values = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.values(args) : [];
  const text = values.length === 1 && typeof values[0] === 'string' ? clean(values[0]) : cleanJson(args, 2);
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars)}\n[… ${text.length - maxChars} more characters; \`retinue approve --json\` shows all]`;
}
