import { below, glob, list, read } from './calls.ts';
import { type Child, childrenOf } from './children.ts';
import type { Call, Conversation } from './conversation.ts';
import { topOf } from './found.ts';
import { isLeftOut, isReadme, isSurveyed } from './languages.ts';
import { maxManifests, maxTasks } from './limits.ts';
import { byDepth, isManifest, manifestNames, parseManifest, type ReadManifest } from './manifests.ts';
import { parseList, parsePaths, parseRead, type Slice } from './outputs.ts';
import { divide, labelOf, type Scope, taskOf } from './scope.ts';
import { byName } from './text.ts';

/** The whole workspace, as the root of a survey sees it: what lies at its top, its manifests, and what it hands to children. */

const manifestLines = 400;

export interface Top {
  folders: string[];
  leftOut: string[];
  files: string[];
  /** Links, and names that cannot be opened. */
  others: number;
  cut: boolean;
  /** Why nothing is known; null when something is. */
  problem: string | null;
}

const manifestGlob = glob(`*/{${manifestNames.join(',')}}`, '.');

export function topCalls(): Call[] {
  return [list('.'), manifestGlob];
}

/** Without `list` the top is read off a search for all files. */
export function topStandIn(talk: Conversation): Call[] {
  const listed = talk.result(list('.'));
  return listed?.ok || (listed === null && talk.may('list')) ? [] : [below('.')];
}

export function readTop(talk: Conversation): Top {
  const listed = talk.result(list('.'));
  const all = talk.result(below('.'));
  const names = listed?.ok ? parseList(listed.text) : null;
  const paths = all?.ok ? parsePaths(all.text) : { paths: [], cut: false };
  const folders = names?.folders ?? [...new Set(paths.paths.map(topOf).filter((name) => name !== ''))];
  const files = names?.files.map(({ name }) => name) ?? paths.paths.filter((path) => !path.includes('/'));
  return {
    folders: folders.filter((name) => !isLeftOut(name)).sort(byName),
    leftOut: folders.filter(isLeftOut).sort(byName),
    files: files.sort(byName),
    others: names?.others ?? 0,
    cut: names?.cut ?? paths.cut,
    problem: listed?.ok || all?.ok ? null : (listed?.text ?? all?.text ?? 'neither list nor glob was offered'),
  };
}

/** Where folders have to share a run, the ones with few entries do: for that they are listed first. */
export function folderCalls({ folders }: Top): Call[] {
  return folders.length < maxTasks ? [] : folders.slice(0, 60).map((name) => list(name));
}

export interface Plan {
  scopes: Scope[];
  left: string[];
  /** Null: there is nothing to delegate. */
  call: Call | null;
}

export function planOf(top: Top, talk: Conversation): Plan {
  const sized = top.folders.map((name) => {
    const result = talk.result(list(name));
    const listing = result?.ok ? parseList(result.text) : null;
    return { name, entries: listing === null ? 0 : listing.files.length + listing.folders.length };
  });
  const { scopes, left } = divide(sized, top.files.some(isSurveyed));
  const tasks = scopes.map((scope) => ({ task: taskOf(scope), agent: 'explore', model: 'offline/surveyor', label: labelOf(scope) }));
  return { scopes, left, call: tasks.length === 0 ? null : { tool: 'delegate', input: { tasks } } };
}

/** Empty when nothing was delegated. */
export function delegated({ scopes, call }: Plan, talk: Conversation): Child[] {
  const result = call === null ? null : talk.result(call);
  return result === null ? [] : childrenOf(scopes, result);
}

/** `more`: manifests that children found further down. */
export function manifestCalls(top: Top, more: string[], talk: Conversation): Call[] {
  const found = talk.result(manifestGlob);
  const below = found?.ok ? parsePaths(found.text).paths : [];
  const paths = [...top.files, ...below, ...more].filter((path) => isManifest(path) && isSurveyed(path) && !isLeftOut(topOf(path)));
  const nearest = [...new Set(paths)].sort(byDepth).slice(0, maxManifests);
  const readme = readmePath(top);
  return [...(readme === null ? [] : [read(readme)]), ...nearest.map((path) => read(path, manifestLines))];
}

export function readmePath({ files }: Top): string | null {
  return files.find((name) => /^readme\.md$/i.test(name)) ?? files.find(isReadme) ?? null;
}

export function readManifests(calls: Call[], talk: Conversation): ReadManifest[] {
  return calls.flatMap((call) => {
    const path = String(call.input.path);
    const slice = sliceOf(call, talk);
    return (slice && parseManifest(path, slice.lines.join('\n'), slice.complete)) ?? [];
  });
}

export function sliceOf(call: Call, talk: Conversation): Slice | null {
  const result = talk.result(call);
  return result?.ok ? parseRead(result.text) : null;
}
