// Exports that were tampered with, some with recomputed hashes: each is refused with its reason, and nothing is written.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { exportTree } from '../../src/records/export-tree.ts';
import { importTree } from '../../src/records/import-tree.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { canonical, factHash, sha256 } from '../../src/text/canonical.ts';
import { createTemporaryDirectory } from '../stores/support/temporary.ts';
import { createWorld } from '../support/world.ts';

// biome-ignore lint/suspicious/noExplicitAny: lines of a file that is taken apart
type Line = any;

const script = {
  runs: [
    {
      when: { agent: 'general' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore' }] } }] }, { text: 'done' }],
    },
    { when: { agent: 'explore' }, steps: [{ text: 'seen' }] },
  ],
};

let whole: Line[];
let directory: ReturnType<typeof createTemporaryDirectory>;
let store: Store;

async function exported(): Promise<Line[]> {
  await using world = await createWorld({ script });
  const { id, outcome } = await world.runtime.start({ task: 'go' });
  await outcome;
  const { header, lines } = await exportTree(id, { live: false }, world.store);
  const all: Line[] = [header];
  for await (const line of lines) all.push(line);
  return all;
}

beforeEach(async () => {
  whole ??= await exported();
  directory = createTemporaryDirectory();
  store = await openSqliteStore({ path: directory.db });
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

const isFact = (line: Line) => line.seq !== undefined;
const copy = (): Line[] => structuredClone(whole);
const factOf = (lines: Line[], type: string, n = 0): Line => lines.filter((line) => line.type === type)[n];

async function* toText(lines: (string | Line)[]): AsyncGenerator<string> {
  for (const line of lines) yield typeof line === 'string' ? line : JSON.stringify(line);
}

function importLines(lines: (string | Line)[]) {
  return importTree(toText(lines), { unfinished: false }, store);
}

/** Recomputes every hash: chains, links between parent and child, and the header's. */
function rehashed(lines: Line[]): Line[] {
  const [header, ...rest] = lines;
  for (let round = 0; round < 3; round++) {
    const last = new Map<string, string>();
    const first = new Map<string, string>();
    for (const fact of rest.filter(isFact)) {
      if (fact.type === 'child.created' && first.has(fact.data.childId)) fact.data.hash = first.get(fact.data.childId);
      if (fact.type === 'child.ended' && last.has(fact.data.childId)) fact.data.hash = last.get(fact.data.childId);
      fact.hash = factHash(fact, canonical(fact.data), last.get(fact.runId) ?? '0'.repeat(64));
      last.set(fact.runId, fact.hash);
      if (!first.has(fact.runId)) first.set(fact.runId, fact.hash);
    }
    header.lastHash = last.get(header.rootId) ?? header.lastHash;
  }
  header.facts = rest.filter(isFact).length;
  return lines;
}

/** A changed copy of the export: the lines that `edit` returns, or those that it changed in place. */
function change(edit: (lines: Line[]) => unknown): Line[] {
  const lines = copy();
  const edited = edit(lines);
  return Array.isArray(edited) ? edited : lines;
}

const without = (lines: Line[], line: Line) => lines.filter((each) => each !== line);

const cases: [name: string, file: () => (Line | string)[], why: RegExp][] = [
  ['nothing at all', () => [], /it is empty/],
  ['no JSON', () => ['{"format":'], /line 1: /],
  ['another format', () => [{ format: 'tar' }], /line 1: this is not a Retinue export/],
  ['null', () => [null], /line 1: this is not a Retinue export/],
  ['a later version', () => change(([header]) => Object.assign(header, { v: 2 })), /line 1: an export of version 2/],
  ['a header with more', () => change(([header]) => Object.assign(header, { more: 1 })), /line 1: .*more/],
  [
    'a text that was changed',
    () => change((lines) => Object.assign(lines[1], { text: `${lines[1].text} ` })),
    /line 2: the blob [0-9a-f]+ was changed/,
  ],
  ['a text that is missing', () => change((lines) => void lines.splice(1, 1)), /the text [0-9a-f]+, which events refer to, is missing/],
  ['a text twice', () => change((lines) => void lines.splice(1, 0, lines[1])), /occurs twice/],
  [
    'a text that no fact points to',
    () => change((lines) => void lines.splice(1, 0, { blob: sha256('x'), text: 'x' })),
    /no event refers to the text/,
  ],
  ['a text after the facts', () => change((lines) => void lines.push(...lines.splice(1, 1))), /must come before the events/],
  [
    'a changed fact',
    () => change((lines) => Object.assign(factOf(lines, 'model.answered').data, { finish: 'other' })),
    /was changed \(model\.answered\)/,
  ],
  ['a later moment', () => change((lines) => Object.assign(factOf(lines, 'run.ended'), { at: '2030-01-01T00:00:00.000Z' })), /was changed/],
  ['a fact that is missing', () => change((lines) => without(lines, factOf(lines, 'child.created'))), /fact \d+ is missing/],
  ['a missing last line', () => change((lines) => lines.slice(0, -1)), /the header announces \d+ events, but there are \d+/],
  ['a last line that is cut off', () => [...copy().slice(0, -1), '{"runId":"00'], /line \d+: /],
  ['a fact twice', () => change((lines) => [...lines, lines.at(-1)]), /line \d+: event \d+ .*is missing/],
  ['a child that is missing', () => change((lines) => withoutChild(lines)), /run [0-9a-f]+ is missing|runs, but there are/],
  [
    'a wrong type in the data',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'model.asked').data, { turn: 'one' }))),
    /model\.asked: turn/,
  ],
  [
    'an unknown type of fact',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'model.asked'), { type: 'toString' }))),
    /line \d+: type/,
  ],
  ['a fact with more keys', () => change((lines) => Object.assign(factOf(lines, 'model.asked'), { position: '7' })), /position/],
  [
    'a later version of facts',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'run.ended'), { v: 99 }))),
    /version 99, written by a newer Retinue/,
  ],
  [
    'a __proto__ key',
    () =>
      copy().map((line) =>
        line.type === 'run.ended' ? JSON.stringify(line).replace('"data":{', '"data":{"__proto__":{"isAdmin":true},') : line,
      ),
    /line \d+: /,
  ],
  [
    'a fact after the end',
    () => rehashed(change((lines) => [...lines, { ...lines.at(-1), seq: lines.at(-1).seq + 1 }])),
    /follows its end/,
  ],
  [
    'a run that begins with something else',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'run.created'), { type: 'run.resumed', v: 1, data: { by: 'x' } }))),
    /does not begin with run\.created/,
  ],
  [
    'a second beginning',
    () => rehashed(change((lines) => [...lines.slice(0, -1), { ...factOf(lines, 'run.created'), seq: lines.at(-1).seq }])),
    /begin with/,
  ],
  [
    'a run of another tree',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'run.created', 1).data, { rootId: 'f'.repeat(16) }))),
    /is not part of the tree/,
  ],
  ['a child that is its own parent', () => rehashed(change((lines) => ownParent(lines))), /is not part of the tree/],
  [
    'a wrong depth',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'run.created', 1).data, { depth: 0 }))),
    /is not part of the tree/,
  ],
  [
    'a child that its parent does not name',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'child.created'), { type: 'run.resumed', data: { by: 'x' } }))),
    /is not named by its parent/,
  ],
  [
    'a run that names itself as its child',
    () => rehashed(change((lines) => Object.assign(factOf(lines, 'child.created').data, { childId: lines[0].rootId }))),
    /is not (the one that it names|named by its parent)/,
  ],
  [
    'a wrong number of runs',
    () => change(([header]) => Object.assign(header, { runs: 3 })),
    /the header announces 3 runs, but there are 2/,
  ],
  ['a wrong last hash', () => change(([header]) => Object.assign(header, { lastHash: 'a'.repeat(64) })), /last hash of the header/],
  [
    'deeply nested arguments',
    () => {
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
      return copy().map((line) =>
        line.type === 'tool.asked'
          ? JSON.stringify(line).replace(/"arguments":\{.*?\},"decision"/, `"arguments":${deep},"decision"`)
          : line,
      );
    },
    /line \d+: /,
  ],
];

function withoutChild(lines: Line[]): Line[] {
  const child = factOf(lines, 'child.created').data.childId;
  const left = lines.filter((line) => line.runId !== child);
  left[0].facts = left.filter(isFact).length;
  left[0].runs = 1;
  return left;
}

function ownParent(lines: Line[]): void {
  const created = factOf(lines, 'run.created', 1);
  created.data.parentId = created.runId;
}

describe('import', () => {
  it.each(cases)('refuses %s', async (_, file, why) => {
    const error = await importLines(file()).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'invalid_import', message: expect.stringMatching(why) });
    expect((error as Error).message.length).toBeLessThan(1000);
    expect(await store.runs({})).toEqual([]);
    expect(await store.facts({})).toEqual([]);
    expect(await store.blob(whole[1].blob)).toBeNull();
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  it('accepts the unchanged export, and names the run if another tree has one of its runs', async () => {
    expect(await importLines(whole)).toMatchObject({ result: 'imported', runs: 2, unfinished: 0 });
    expect(await importLines(whole)).toMatchObject({ result: 'already' });
    const other = rehashed(change((lines) => Object.assign(factOf(lines, 'model.answered').data.content[0], { input: '{}' })));
    await expect(importLines(other)).rejects.toMatchObject({
      code: 'invalid_import',
      message: expect.stringContaining(`run ${whole[0].rootId} is here already, with other events`),
    });
    // The child of a tree that is here, under another root.
    const [root, child] = [whole[0].rootId, factOf(whole, 'child.created').data.childId];
    const text = JSON.stringify(whole).replaceAll(root, 'e'.repeat(16));
    await expect(importLines(rehashed(JSON.parse(text)))).rejects.toMatchObject({
      message: expect.stringContaining(`run ${child} is here already`),
    });
    expect(await store.runs({})).toHaveLength(2);
    expect(await store.holders([root])).toEqual(new Map([[root, null]]));
  });
});
