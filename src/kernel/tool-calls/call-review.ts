// The asynchronous part of judging a call: checks of a program's schemas, and whether a tool of the program wants approval.
//
// The program's code runs once per call here, and the verdict is recorded: a resumed or replayed run does not call it again.
import type { Json } from '../../contract/json.ts';
import { submitTool } from '../../contract/tool-names.ts';
import { describeArgumentProblems } from '../../conversation/argument-problems.ts';
import { parseArguments } from '../../conversation/arguments.ts';
import type { CallRef } from '../../conversation/tool-calls.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { copyJson } from '../../text/copy-json.ts';
import type { ModelWork, Run } from '../run.ts';
import type { Services } from '../services.ts';
import { findTool, readSubjects, type SubjectReading, thrownToText } from './call-rights.ts';

export interface CallReview {
  /** Of a submitted result: what is wrong with it; null if it is valid. */
  result?: string | null;
  read?: SubjectReading;
  needsApproval?: boolean;
}

interface ReviewedCall extends CallRef {
  tool: string;
  /** The arguments without secrets. */
  input: string;
  original: string;
}

/** The reviews of calls by their index; null if nothing has to be awaited. */
export function reviewCalls(calls: ReviewedCall[], run: Run, services: Services): Promise<CallReview[]> | null {
  const { check } = run.work as ModelWork;
  let hasReview = false;
  const reviews = calls.map((call): CallReview | Promise<CallReview> => {
    const isResult = call.tool === submitTool && check !== null;
    const tool = isResult || !run.grant.tools.includes(call.tool) ? undefined : findTool(run, call.tool);
    if (!isResult && !tool?.hasAsyncInput && !tool?.needsApproval) return {};
    hasReview = true;
    const args = parseArguments(isResult ? call.input : call.original);
    if (!args.ok) return {};
    return tool ? reviewCall({ ...call, tool, args: args.value }, run, services) : reviewResult(args.value, run, services);
  });
  return hasReview ? Promise.all(reviews) : null;
}

async function reviewResult(value: Json, run: Run, services: Services): Promise<CallReview> {
  const checked = await settle(async () => (run.work as ModelWork).check?.(copyJson(value)) ?? null, run, services);
  return { result: 'error' in checked ? checked.error : checked.value };
}

async function reviewCall(
  { tool, args, ...ref }: CallRef & { tool: AnyTool; args: Json },
  run: Run,
  services: Services,
): Promise<CallReview> {
  const parsed = await settle(() => readInput(tool, copyJson(args)), run, services);
  if ('error' in parsed) return { read: { problem: parsed.error } };
  if ('problem' in parsed.value) return { read: parsed.value };
  const { input } = parsed.value;
  const read = readSubjects(tool, args, run);
  if (!tool.needsApproval) return { read };
  const wants = await settle(async () => tool.needsApproval?.(input, { callId: createCallId(run, ref) }), run, services);
  if ('error' in wants) return { read: { denied: `it could not be found out whether ${tool.name} needs approval: ${wants.error}` } };
  return { read, needsApproval: wants.value === true };
}

export function createCallId(run: Run, { turn, index }: CallRef): string {
  return `${run.id}/${turn}.${index}`;
}

/** The typed input of a call to a tool with asynchronous checks. Rejects if the tool does not accept it. */
export async function parseAsyncInput(tool: AnyTool, args: Json): Promise<unknown> {
  const read = await readInput(tool, args);
  if ('problem' in read) throw new Error(read.problem);
  return read.input;
}

async function readInput(tool: AnyTool, args: Json): Promise<{ input: unknown } | { problem: string }> {
  const parsed = await tool.input.safeParseAsync(args);
  return parsed.success ? { input: parsed.data } : { problem: describeArgumentProblems(parsed.error, tool.input, args) };
}

/** Waits for code of the program, at most as long as for a tool. */
function settle<T>(work: () => Promise<T>, run: Run, { deadlines, clock }: Services): Promise<{ value: T } | { error: string }> {
  const maxMs = run.grant.limits.toolTimeoutMs.value as number;
  return new Promise((resolve) => {
    const onStop = () => end({ error: 'the run was stopped' });
    const endTimer = deadlines.at(clock.monotonic() + maxMs, () => end({ error: `its check took longer than ${maxMs} ms` }));
    const end = (how: { value: T } | { error: string }) => {
      endTimer();
      run.signal.removeEventListener('abort', onStop);
      resolve(how);
    };
    run.signal.addEventListener('abort', onStop);
    work().then(
      (value) => end({ value }),
      (error: unknown) => end({ error: thrownToText(error) }),
    );
    if (run.signal.aborted) onStop();
  });
}
