import type { Child } from './children.ts';
import { type Call, type Conversation, keyOf } from './conversation.ts';
import type { SurveyData } from './data.ts';
import { evidenceOf, stagesOf } from './evidence.ts';
import { folderDataOf } from './folder.ts';
import { maxTurns } from './limits.ts';
import { foldersOf, listingCalls } from './listed.ts';
import { messageOf } from './message.ts';
import { ranOutOfTime } from './outputs.ts';
import { problemsOf } from './problems.ts';
import { reportOf } from './report.ts';
import { type Scope, scopeOf } from './scope.ts';
import { code, plain } from './text.ts';
import * as workspace from './workspace.ts';

/** What the surveyor does next. */
export interface Step {
  text: string;
  /** Empty: the text is the answer. */
  calls: Call[];
}

/**
 * Read off the conversation alone: the first stage whose calls have not all been made, or the answer when there is none, when no
 * tool may be called any more, or when the turns are used up.
 */
export function nextStep(talk: Conversation): Step {
  const scope = scopeOf(talk.task);
  const stages = scope === null ? workspaceStages(talk) : stagesOf(scope, talk);
  for (const stage of talk.turns < maxTurns ? stages : []) {
    const calls = unique(stage).filter((call) => talk.may(call.tool) && isOpen(call, talk));
    if (calls.length > 0) return { calls, text: saying(scope, talk, calls) };
  }
  return { calls: [], text: scope === null ? workspaceReport(talk) : messageOf(surveyOf(scope, talk)) };
}

function* workspaceStages(talk: Conversation): Generator<Call[]> {
  yield [...workspace.topCalls(), ...workspace.topStandIn(talk)];
  yield workspace.topStandIn(talk); // it was tried, and failed
  const top = workspace.readTop(talk);
  if (talk.may('delegate')) {
    yield workspace.folderCalls(top);
    const { call } = workspace.planOf(top, talk);
    yield call === null ? [] : [call];
  }
  const surveys = childSurveys(top, talk);
  const manifests = workspace.manifestCalls(top, manifestsIn(surveys), talk);
  yield surveys.length > 0 ? manifests : [...manifests, ...listingCalls(wholeOf(top))];
  if (surveys.length === 0) yield* stagesOf(wholeOf(top), talk);
}

function childSurveys(top: workspace.Top, talk: Conversation): SurveyData[] {
  return workspace.delegated(workspace.planOf(top, talk), talk).flatMap(({ survey }) => survey ?? []);
}

function manifestsIn(surveys: SurveyData[]): string[] {
  return surveys.flatMap(({ folders }) => folders.flatMap(({ manifests }) => manifests));
}

function wholeOf(top: workspace.Top): Scope {
  return { folders: top.folders, files: true };
}

function surveyOf(scope: Scope, talk: Conversation): SurveyData {
  const evidence = evidenceOf(scope, talk);
  const folders: (string | null)[] = [...foldersOf(scope).seen, ...(scope.files ? [null] : [])];
  return { survey: 1, folders: folders.map((folder) => folderDataOf(folder, evidence)), problems: evidence.problems };
}

function workspaceReport(talk: Conversation): string {
  const top = workspace.readTop(talk);
  const plan = workspace.planOf(top, talk);
  const children = workspace.delegated(plan, talk);
  const handed = children.flatMap(({ survey }) => survey ?? []);
  const surveys = handed.length > 0 ? handed : [surveyOf(wholeOf(top), talk)];
  const calls = workspace.manifestCalls(top, manifestsIn(surveys), talk);
  const readme = workspace.readmePath(top);
  const own = problemsOf([...workspace.topCalls(), ...calls], handed.length > 0 ? plan.left : [], talk);
  return reportOf({
    asked: { task: talk.task, further: talk.further },
    top,
    surveys,
    manifests: workspace.readManifests(calls, talk),
    readme: readme === null ? [] : (workspace.sliceOf(calls[0] as Call, talk)?.lines ?? []),
    problems: [...childProblems(children), ...own, ...surveys.flatMap(({ problems }) => problems)],
  });
}

/** Equal problems are told once, with the folders that have them. */
function childProblems(children: Child[]): string[] {
  const bad = children.flatMap(({ scope, problem }) =>
    problem === null ? [] : [{ problem, name: scope.folders.join(', ') || 'files at the top' }],
  );
  return Array.from(
    Map.groupBy(bad, ({ problem }) => problem),
    ([problem, all]) => `${plain(all.map(({ name }) => name).join(', '), 120)}: ${problem}`,
  );
}

/** On a busy machine a search may run out of time that has it the next time, when fewer run beside it. */
function isOpen(call: Call, talk: Conversation): boolean {
  const result = talk.result(call);
  if (result === null) return true;
  return talk.tries(call) === 1 && talk.turns < maxTurns - 2 && ranOutOfTime(result.text);
}

function unique(calls: Call[]): Call[] {
  return [...new Map(calls.map((call) => [keyOf(call), call])).values()];
}

/** A line for whoever watches. */
function saying(scope: Scope | null, talk: Conversation, calls: Call[]): string {
  if (calls.some(({ tool }) => tool === 'delegate')) return 'One explorer for each folder.';
  if (talk.turns > 0) return 'I look further.';
  if (scope === null) return 'I am offline/surveyor: rules, no language model. I look at what is there.';
  return `I survey ${plain(scope.folders.map((name) => code(name)).join(', '), 200) || 'the files at the top'}.`;
}
