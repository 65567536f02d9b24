// Whether a tool call may be made: what it would touch, and what the rules of the run and earlier approvals say about that.
import { isRetinueError } from '../../contract/error.ts';
import type { Decision } from '../../contract/grant.ts';
import type { Json } from '../../contract/json.ts';
import { describeArgumentProblems } from '../../conversation/argument-problems.ts';
import type { CallState } from '../../conversation/request.ts';
import { type AlwaysAllowed, callPin } from '../../conversation/tool-calls.ts';
import type { Subject } from '../../ports/subject.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { decideCall, subjectText } from '../../rules/policy.ts';
import type { Run } from '../run.ts';
import { collectAlwaysAllowed, collectRulesets } from '../run-rights.ts';
import type { Services } from '../services.ts';

/**
 * Judges a call again before it is made: rules may have been added, and earlier calls or other programs may have changed what its paths mean. Null if
 * it may be made; otherwise the denial to return.
 */
export async function recheckCall(run: Run, { call, args }: { call: CallState; args: Json }, services: Services): Promise<string | null> {
  const tool = findTool(run, call.tool);
  if (!tool) return null; // `attemptCall` reports a missing tool
  const preparing = prepareTools([call.tool], run);
  if (preparing) await preparing;
  const read = readSubjects(tool, args, run);
  if ('denied' in read) return `denied: ${read.denied}`;
  if ('problem' in read) return `denied: ${read.problem}`;
  return recheckSubjects(run, { call, subjects: read.subjects }, services);
}

/** Like `recheckCall`, for the paths that the tool actually opened. An approval covers only what its question showed. */
export function recheckSubjects(run: Run, { call, subjects }: { call: CallState; subjects: Subject[] }, services: Services): string | null {
  const tool = findTool(run, call.tool);
  if (!tool) return null;
  const decision = decideForRun({ tool, hash: () => callPin(call), subjects }, run, services);
  if (decision.action === 'deny') return describeDenial(run, call.tool, decision);
  if (decision.action === 'allow') return null;
  const shown = call.approval?.subjects ?? [];
  const added = subjects
    .filter(isOwnSubject)
    .map((subject) => services.redact(subjectText(subject), false))
    .find((text) => !shown.includes(text));
  if (call.approval && added === undefined) return null;
  const what = added === undefined ? '' : `: it would now touch \`${added}\``;
  return `denied: what ${call.tool} would touch has changed since it was ${call.approval ? 'approved' : 'judged'}${what}; make the call again`;
}

export function findTool({ work }: Run, name: string): AnyTool | undefined {
  return work?.tools.get(name);
}

/** Lets tools load what they need to say what a call touches; null if none does. If that fails, the call is refused when its subjects are read. */
export function prepareTools(names: string[], run: Run): Promise<unknown> | null {
  const prepared = names.filter((name) => findTool(run, name)?.prepare !== undefined);
  if (prepared.length === 0) return null;
  const prepare = async (name: string) => findTool(run, name)?.prepare?.();
  return Promise.allSettled([...new Set(prepared)].map(prepare));
}

export type SubjectReading = { subjects: Subject[] } | { problem: string } | { denied: string };

/** The subjects of the call, or why they cannot be determined. Rules need subjects, so such a call is not executed. */
export function readSubjects(tool: AnyTool, args: Json, { workspace }: { workspace: string }): SubjectReading {
  if (tool.hasAsyncInput) return { subjects: [] };
  try {
    const input = tool.input.safeParse(args);
    if (input.success) return { subjects: tool.subjects(input.data, { workspace }) };
    return { problem: describeArgumentProblems(input.error, tool.input, args) };
  } catch (error) {
    return isRetinueError(error) && error.code === 'denied' ? { denied: error.message } : { problem: thrownToText(error) };
  }
}

export interface JudgedCall {
  tool: AnyTool;
  /** Identifies the call. Computed only where a call may have been approved before. */
  hash: () => string;
  subjects: Subject[];
  /** The tool wants approval for this call, whatever the rules allow. */
  needsApproval?: boolean;
}

/** Applies the rules. If the answer is `ask`, an earlier `always allow` turns it into `allow`; a deny stays a deny. */
export function decideForRun({ tool, hash, subjects, needsApproval = false }: JudgedCall, run: Run, { redact }: Services): Decision {
  const byRules = decideCall(collectRulesets(run), { tool: tool.name, subjects });
  const isAskedByTool = needsApproval && byRules.action === 'allow';
  const decision: Decision = isAskedByTool ? { action: 'ask', owner: `tool ${tool.name}`, rule: 'needsApproval' } : byRules;
  if (decision.action !== 'ask') return decision;
  const own = subjects.filter(isOwnSubject).map((subject) => redact(subjectText(subject), false));
  // The same call with the same subjects; for tools whose subjects say everything about a call, also another call with the same subjects.
  const isSame = (each: AlwaysAllowed) =>
    isEqual(each.subjects, own) && (each.hash === hash() || (tool.bySubject === true && own.length > 0));
  const approved = collectAlwaysAllowed(run).find((each) => each.tool === tool.name && isSame(each));
  return approved ? { action: 'allow', owner: approved.by, rule: 'always allow' } : decision;
}

function isEqual(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

export function isOwnSubject(subject: Subject): boolean {
  return typeof subject === 'string' || subject.alias !== true;
}

/** How a denied call reads to the model; a dialect may have its own words for delegated runs. */
export function describeDenial(run: Run, tool: string, decision: Decision): string {
  const { denial } = run.dialect.setup;
  if (run.depth > 0 && denial) return denial(tool, decision);
  const { action, rule, owner, about } = decision;
  const subject = about === undefined ? '' : `\`${about}\`: `;
  const by = `${subject}${rule === null ? 'no rule allows it' : `rule \`${rule}\` of ${owner}`}`;
  return action === 'ask'
    ? `denied: ${tool} needs approval, and this run cannot ask for approval (${by})`
    : `denied: ${tool} is not allowed (${by})`;
}

/** The message of whatever was thrown. */
export function thrownToText(thrown: unknown): string {
  try {
    return (thrown instanceof Error && String(thrown.message)) || String(thrown);
  } catch {
    return 'an error that cannot be shown'; // its toString throws
  }
}
