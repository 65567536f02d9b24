// Decides what the surveyor does next, from its conversation alone. A root lists the workspace, delegates one child for each part of it, reads
// the README, and writes the report. A child surveys its folders. A root that gets no survey from a child surveys the folders itself.
import { z } from 'zod';
import { collectSurvey, describeProblems, detailCalls, listingStages } from './collect.ts';
import { type Call, createCallKey, type SurveyConversation } from './conversation.ts';
import { isReadme, isSkippedAtTop, isSurveyed } from './files.ts';
import { compareNames, toCode, toPlainLine } from './format.ts';
import { parseDelegation, type Survey, surveyToMessage } from './message.ts';
import { type Top, writeReport } from './report.ts';
import { createListCall, createReadCall, hasTimedOut, parseListing, parseRead } from './tools.ts';

/** Turns with tool calls; the answer takes one more. */
const maxTurns = 5;
/** Calls in one turn; the runtime accepts 64. */
const maxCalls = 60;
/** Tasks of one `delegate` call. The tool accepts 16: one is for the files at the top. */
const maxTasks = 15;
/** Folders that one run surveys. */
const maxFolders = 24;
const readmeLines = 60;

export interface SurveyStep {
  text: string;
  /** Empty if the text is the final answer. */
  calls: Call[];
}

export function planNextStep(conversation: SurveyConversation): SurveyStep {
  const scope = parseTask(conversation.task);
  const stages = scope === null ? listRootStages(conversation) : listChildStages(scope, conversation);
  for (const stage of conversation.turns < maxTurns ? stages : []) {
    const calls = new Map(stage.filter((call) => isDue(call, conversation)).map((call) => [createCallKey(call), call]));
    if (calls.size > 0) return { calls: [...calls.values()].slice(0, maxCalls), text: describeStep(scope, conversation, stage) };
  }
  return { calls: [], text: scope === null ? reportWorkspace(conversation) : surveyToMessage(collectSurvey(scope, conversation)) };
}

/** Not made yet, or stopped by a busy machine at the first attempt. */
function isDue(call: Call, conversation: SurveyConversation): boolean {
  const result = conversation.result(call);
  const isRetry = result !== null && hasTimedOut(result) && conversation.attempts(call) === 1 && conversation.turns < maxTurns - 1;
  return conversation.offers(call.tool) && (result === null || isRetry);
}

/** A line for the person who watches. */
function describeStep(scope: string[] | null, { turns }: SurveyConversation, stage: Call[]): string {
  if (stage[0]?.tool === 'delegate') return 'I delegate one explorer for each folder.';
  if (turns > 0) return 'I look at the details.';
  return scope === null ? 'I am offline/surveyor: rules, no language model. I list the workspace.' : `I survey ${describeScope(scope)}.`;
}

const marker = 'survey-scope: ';
const Scope = z
  .array(z.string().regex(/^(?!\.\.$)[^/]+$/s))
  .min(1)
  .max(maxFolders);

/** The task of a child: text for people, and a last line for the child's rules. */
export function createTask(scope: string[]): string {
  return `Survey ${describeScope(scope)} of this workspace: languages, sizes, tests, TODOs and the largest files.
Answer with a short summary and, at its end, the survey as a JSON block.

${marker}${JSON.stringify(scope)}`;
}

/** Null for every task that no surveyor wrote. */
export function parseTask(task: string): string[] | null {
  const line = task.split('\n').find((each) => each.startsWith(marker));
  try {
    return line === undefined ? null : (Scope.safeParse(JSON.parse(line.slice(marker.length))).data ?? null);
  } catch {
    return null; // Not JSON, so no surveyor wrote it.
  }
}

function describeScope(scope: string[]): string {
  return toPlainLine(scope.map((folder) => (folder === '.' ? 'the files at the top' : toCode(folder))).join(', '), 400);
}

function* listChildStages(scope: string[], conversation: SurveyConversation): Generator<Call[]> {
  yield* listingStages(scope, conversation);
  yield detailCalls(scope, conversation);
}

function* listRootStages(conversation: SurveyConversation): Generator<Call[]> {
  yield [createListCall('.')];
  const top = readTop(conversation);
  const scopes = divideWorkspace(top);
  if (scopes.length > 0) yield [delegateCall(scopes, conversation)];
  yield readmeCalls(top);
  if (readChildren(scopes, conversation).surveys.length === 0) yield* listChildStages(ownScope(top), conversation);
}

function readTop(conversation: SurveyConversation): Top {
  const { folders, files, others, complete } = parseListing(conversation.result(createListCall('.')));
  return {
    folders: folders.filter((name) => !isSkippedAtTop(name)).sort(compareNames),
    skipped: folders.filter(isSkippedAtTop).sort(compareNames),
    files: files.flatMap(({ name }) => (isSurveyed(name) ? [name] : [])).sort(compareNames),
    links: others,
    complete,
  };
}

/** One scope for each folder; if there are too many folders, several share one. The files at the top come last. */
export function divideWorkspace({ folders, files }: Pick<Top, 'folders' | 'files'>): string[][] {
  const size = Math.min(maxFolders, Math.ceil(folders.length / maxTasks));
  const scopes: string[][] = [];
  for (let start = 0; start < folders.length && scopes.length < maxTasks; start += size) scopes.push(folders.slice(start, start + size));
  return files.length > 0 ? [...scopes, ['.']] : scopes;
}

/** What a root surveys if it has no children. */
function ownScope({ folders, files }: Top): string[] {
  return [...folders.slice(0, maxFolders), ...(files.length > 0 ? ['.'] : [])];
}

function delegateCall(scopes: string[][], { model }: SurveyConversation): Call {
  const tasks = scopes.map((scope) => {
    const [first = ''] = scope;
    const label = first === '.' ? 'files at the top' : toPlainLine(first, 80) || 'folder';
    const more = scope.length === 1 ? '' : ` and ${scope.length - 1} more`;
    return { task: createTask(scope), agent: 'explore', model, label: label + more };
  });
  return { tool: 'delegate', input: { tasks } };
}

function readChildren(scopes: string[][], conversation: SurveyConversation): { surveys: Survey[]; problems: string[] } {
  const result = conversation.result(delegateCall(scopes, conversation));
  return result === null ? { surveys: [], problems: [] } : parseDelegation(result);
}

function readmeCalls({ files }: Top): Call[] {
  const readme = files.find(isReadme);
  return readme === undefined ? [] : [createReadCall(readme, readmeLines)];
}

function reportWorkspace(conversation: SurveyConversation): string {
  const top = readTop(conversation);
  const children = readChildren(divideWorkspace(top), conversation);
  const surveys = children.surveys.length > 0 ? children.surveys : [collectSurvey(ownScope(top), conversation)];
  const own = describeProblems([createListCall('.'), ...readmeCalls(top)], conversation);
  return writeReport({
    task: conversation.task,
    followUp: conversation.followUp,
    top,
    folders: surveys.flatMap(({ folders }) => folders),
    readme: readmeCalls(top).flatMap((call) => parseRead(conversation.result(call)).lines),
    problems: [...children.problems, ...own, ...surveys.flatMap(({ problems }) => problems)],
  });
}
