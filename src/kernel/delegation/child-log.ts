// What a run did, step by step, in few words: for the model that delegated to it. Prompts, hashes, times and complete results are left out; the
// summary, diffs and artifacts have parts of their own.
import type { Fact } from '../../contract/fact.ts';
import { canonical } from '../../text/canonical.ts';

const maxText = 400;
const maxArguments = 200;
const maxOutput = 160;

/** One line per step. Facts of one run, from the first on. */
export function factsToLog(facts: Fact[]): string {
  const calls = new Map<string, string>();
  return facts.flatMap((fact) => factToLines(fact, calls)).join('\n');
}

/** `calls`: open calls by turn and index. */
function factToLines(fact: Fact, calls: Map<string, string>): string[] {
  switch (fact.type) {
    case 'run.created':
      return [`task: ${shorten(fact.data.brief.task, maxText)}`];
    case 'model.answered': {
      const text = fact.data.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
      return text.trim() === '' ? [] : [`turn ${fact.data.turn}: ${shorten(text, maxText)}`];
    }
    case 'model.failed':
      return [`model call failed: ${fact.data.error.code}: ${shorten(fact.data.error.message, maxOutput)}`];
    case 'tool.asked':
      calls.set(`${fact.data.turn}.${fact.data.index}`, `${fact.data.tool} ${shorten(canonical(fact.data.arguments), maxArguments)}`);
      return [];
    case 'tool.finished': {
      const call = calls.get(`${fact.data.turn}.${fact.data.index}`) ?? 'a call';
      return [`turn ${fact.data.turn}: ${call} -> ${fact.data.status}, ${shorten(fact.data.output, maxOutput)}`];
    }
    case 'child.created':
      return [`delegated to run ${fact.data.childId}${fact.data.label === null ? '' : ` (${shorten(fact.data.label, maxOutput)})`}`];
    case 'child.ended':
      return [`run ${fact.data.childId} ended: ${fact.data.outcome.status}`];
    case 'message.received':
      return [`message from ${fact.data.from}: ${shorten(fact.data.text, maxText)}`];
    case 'run.ended': {
      const { status, error } = fact.data.outcome;
      return [`ended: ${status}${error === null ? '' : `, ${error.code}: ${shorten(error.message, maxOutput)}`}`];
    }
    default:
      return [];
  }
}

/** One line, with the number of characters that were left out. */
function shorten(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= max ? line : `${line.slice(0, max).toWellFormed()}… (${line.length - max} more characters)`;
}
