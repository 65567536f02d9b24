// The text block that reports runs which ended while no call was waiting for them. It is added to the next tool result.
import type { Outcome } from '../contract/outcome.ts';
import { cleanText } from '../text/cut.ts';
import { verifiedWord } from '../text/verified.ts';

const maxLines = 50;
const maxLineChars = 200;

export interface EndedRunsBlock {
  text: string;
  /** The runs that the text covers. The others follow in a later result. */
  runIds: string[];
}

/** With a tool to read reports by run id (`reader`), each run gets one line. Without one the block holds as many whole reports as fit. */
export function formatEndedRuns(outcomes: Outcome[], reader: string | null, maxBytes: number): EndedRunsBlock | null {
  if (outcomes.length === 0) return null;
  const entries = reader === null ? formatReports(outcomes, maxBytes) : outcomes.slice(0, maxLines).map(formatLine);
  const runIds = outcomes.slice(0, entries.length).map((outcome) => outcome.runId);
  const hint =
    reader === null ? [] : [`To read the whole report of the first: ${reader} ${JSON.stringify({ id: runIds[0], part: 'summary' })}`];
  return { text: ['Delegated runs that have ended in the meantime:', ...entries, ...hint].join('\n'), runIds };
}

/** As many as fit, and always the first, whole: its summary is within its run's own limit already. */
function formatReports(outcomes: Outcome[], maxBytes: number): string[] {
  const reports: string[] = [];
  let bytesLeft = maxBytes;
  for (const outcome of outcomes) {
    const report = formatReport(outcome);
    bytesLeft -= Buffer.byteLength(report);
    if (bytesLeft < 0 && reports.length > 0) break;
    reports.push(report);
  }
  return reports;
}

function formatReport(outcome: Outcome): string {
  const error = outcome.error ? [`${outcome.error.code}: ${toOneLine(outcome.error.message)}`] : [];
  const data = outcome.data === undefined ? [] : [JSON.stringify(outcome.data)];
  const summary = outcome.summary === '' ? [] : [outcome.summary];
  return cleanText([formatHead(outcome), ...error, ...summary, ...data].join('\n'));
}

function formatLine(outcome: Outcome): string {
  const text = outcome.error ? `${outcome.error.code}: ${outcome.error.message}` : outcome.summary;
  return `${formatHead(outcome)} ${toOneLine(text)}`;
}

function formatHead(outcome: Outcome): string {
  const { runId, status, turns, label } = outcome;
  const verified = verifiedWord(outcome);
  const fields = [`run ${runId}`, status, ...(verified === null ? [] : [verified]), `${turns} ${turns === 1 ? 'turn' : 'turns'}`];
  if (label) fields.push(JSON.stringify(toOneLine(label)));
  return `[${fields.join(' · ')}]`;
}

function toOneLine(text: string): string {
  const flat = cleanText(text).replace(/\s+/g, ' ').trim();
  return flat.length > maxLineChars ? `${flat.slice(0, maxLineChars).toWellFormed()}…` : flat;
}
