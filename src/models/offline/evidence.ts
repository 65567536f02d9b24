import { list, read } from './calls.ts';
import type { Call, Conversation } from './conversation.ts';
import { type Found, foundOf, searchCalls, topOf } from './found.ts';
import { folderOf, isCode, isReadme } from './languages.ts';
import { maxCalls, maxReads, maxTurns, readLines, readTopLines } from './limits.ts';
import { foldersOf, type Listed, listedOf, listingCalls, sizesIn, subfolderCalls } from './listed.ts';
import { parseRead, type Slice } from './outputs.ts';
import { largestOf, startsOf } from './picks.ts';
import { problemsOf } from './problems.ts';
import type { Scope } from './scope.ts';
import { addTo, ranked } from './text.ts';

/** All that a survey knows of a scope, read off the conversation. */
export interface Evidence extends Listed {
  found: Found;
  slices: ReadonlyMap<string, Slice>;
  problems: string[];
}

/**
 * The survey of a scope, stage after stage. The calls of a stage follow from the results of the stages before it and from nothing
 * else, so that they come out the same at every look at the conversation.
 */
export function* stagesOf(scope: Scope, talk: Conversation): Generator<Call[]> {
  yield listingCalls(scope);
  // The two stages below matter more than this one where turns run out.
  if (talk.turns <= maxTurns - 3) yield subfolderCalls(scope, talk);
  const listed = listedOf(scope, talk);
  yield [...searchCalls(listed), ...sizeCalls(listed)];
  yield readCalls(withSizes(listed, talk), talk);
}

export function evidenceOf(scope: Scope, talk: Conversation): Evidence {
  const listed = listedOf(scope, talk);
  const sized = withSizes(listed, talk);
  const reads = readCalls(sized, talk);
  const slices = new Map<string, Slice>();
  for (const call of reads) {
    const result = talk.result(call);
    if (result?.ok) slices.set(String(call.input.path), parseRead(result.text));
  }
  const calls = [...listingCalls(scope), ...searchCalls(listed), ...sizeCalls(listed), ...reads];
  return { ...sized, found: foundOf(sized, talk, slices), slices, problems: problemsOf(calls, foldersOf(scope).unseen, talk) };
}

/** Sizes come from `list`, one folder at a time: those with the most code first, as many as the turn of the searches has room for. */
function sizeCalls(listed: Listed): Call[] {
  const counts = new Map<string, number>();
  for (const path of listed.files) if (!listed.sizes.has(path)) addTo(counts, folderOf(path), isCode(path) ? 1 : 0);
  const room = maxCalls - searchCalls(listed).length;
  return ranked(counts)
    .slice(0, room)
    .map(([folder]) => list(folder || '.'));
}

function withSizes(listed: Listed, talk: Conversation): Listed {
  const more = sizeCalls(listed).flatMap(({ input }) => sizesIn(String(input.path), talk));
  return { ...listed, sizes: new Map([...listed.sizes, ...more]) };
}

const none: ReadonlyMap<string, Slice> = new Map();

/** What is worth opening: of each folder its README, then entry points, then the largest files. Files at the top: all code there. */
function readCalls(listed: Listed, talk: Conversation): Call[] {
  const found = foundOf(listed, talk, none);
  const wanted: { path: string; rank: number }[] = [];
  for (const [folder, files] of Map.groupBy(listed.files, topOf)) {
    if (folder === '') wanted.push(...files.filter(isCode).map((path) => ({ path, rank: 1 })));
    else wanted.push(...worthOpening(folder, files, { sizes: listed.sizes, found }));
  }
  const ordered = wanted.toSorted((a, b) => a.rank - b.rank).map(({ path }) => path);
  return [...new Set(ordered)].slice(0, maxReads).map((path) => read(path, path.includes('/') ? readLines : readTopLines));
}

function worthOpening(folder: string, files: string[], known: { sizes: Listed['sizes']; found: Found }): { path: string; rank: number }[] {
  const readme = files.filter((path) => folderOf(path) === folder && isReadme(path)).slice(0, 1);
  const starts = startsOf(folder, files, known.found).slice(0, 4);
  const large = largestOf(files.filter(isCode), known.sizes).slice(0, 3);
  return [
    ...readme.map((path) => ({ path, rank: 0 })),
    ...starts.map(({ path }, index) => ({ path, rank: 1 + index })),
    ...large.map(({ path }, index) => ({ path, rank: 2 + index })),
  ];
}
