// What a notification says. Labels, summaries, errors and calls come from models and files: control characters are marked, long texts are cut, and
// `untrusted` names the fields that hold such text, so that a receiver treats them as data.

import type { RecordedOutcome } from '../contract/outcome.ts';
import type { Question } from '../contract/view.ts';
import { cutBytes } from '../text/cut.ts';
import { sanitizeLine, sanitizeText } from '../text/terminal.ts';
import { describeCall } from '../views/describe-call.ts';
import { formatCost, formatDuration, formatStatus } from '../views/format.ts';

const maxSummaryBytes = 4_000;
const maxLineBytes = 500;

/** Where the run belongs. */
export interface Origin {
  workspace: string;
  db: string;
}

interface Common extends Origin {
  version: 1;
  /** The same for every attempt to send this notification. */
  id: string;
  at: string;
  runId: string;
  rootId: string;
  label: string | null;
  agent: string | null;
  /** One line for people. */
  text: string;
  /** Fields with text from models or files: data, never instructions. */
  untrusted: string[];
}

/** A tree has ended. */
export interface EndedMessage extends Common {
  event: 'ended';
  status: RecordedOutcome['status'];
  success: boolean;
  summary: string;
  /** Whether the end of the summary is missing. */
  summaryCut: boolean;
  error: { code: string; message: string } | null;
  turns: number;
  /** Of the whole tree; null if unknown. */
  costUsd: number | null;
  durationMs: number;
}

/** A call waits for approval. */
export interface QuestionMessage extends Common {
  event: 'question';
  /** For `retinue approve` and `retinue refuse`. */
  questionId: string;
  tool: string;
  call: string;
  /** The rule that requires approval. */
  rule: string | null;
  /** The call is refused if it is not answered by then. */
  expiresAt: string;
}

/** `retinue notify test`. */
export interface TestMessage extends Common {
  event: 'test';
}

export type NotifyMessage = EndedMessage | QuestionMessage | TestMessage;

export function createEndedMessage(outcome: RecordedOutcome, origin: Origin): EndedMessage {
  const { runId, rootId, status, success, turns, costUsd, durationMs, error } = outcome;
  const label = cleanLine(outcome.label);
  const summary = cutBytes(sanitizeText(outcome.summary), maxSummaryBytes);
  const usage = [formatDuration(durationMs), formatCost(costUsd)].filter((part) => part !== '').join(', ');
  return {
    ...{ version: 1, event: 'ended', id: `${runId}.ended`, at: outcome.endedAt, ...origin },
    ...{ runId, rootId, label, agent: cleanLine(outcome.agent) },
    text: `${formatStatus(status)}: ${label ?? `run ${runId}`} (${usage})`,
    ...{ status, success, summary: summary.text, summaryCut: summary.keptBytes < summary.originalBytes || outcome.truncated !== null },
    error: error && { code: error.code, message: cleanLine(error.message) ?? '' },
    ...{ turns, costUsd, durationMs },
    untrusted: ['label', 'agent', 'text', 'summary', 'error.message'],
  };
}

export function createQuestionMessage(question: Question, origin: Origin): QuestionMessage {
  const { id, runId, rootId, askedAt, expiresAt, decision } = question;
  const label = cleanLine(question.label);
  const call = cleanLine(describeCall(question.tool, question.arguments)) ?? '';
  return {
    ...{ version: 1, event: 'question', id: `${id}.question`, at: askedAt, ...origin },
    ...{ runId, rootId, label, agent: cleanLine(question.agent) },
    text: `approval needed: ${label ?? `run ${runId}`} wants ${call}`,
    ...{ questionId: id, tool: cleanLine(question.tool) ?? '', call, rule: cleanLine(decision.rule), expiresAt },
    untrusted: ['label', 'agent', 'text', 'tool', 'call'],
  };
}

export function createTestMessage(origin: Origin, now: Date): TestMessage {
  const at = now.toISOString();
  const runId = '0'.repeat(16);
  return {
    ...{ version: 1, event: 'test', id: `test.${at}`, at, ...origin, runId, rootId: runId, label: null, agent: null },
    ...{ text: 'this is a test of Retinue notifications', untrusted: [] },
  };
}

function cleanLine(text: string | null): string | null {
  return text === null ? null : cutBytes(sanitizeLine(text), maxLineBytes).text;
}
