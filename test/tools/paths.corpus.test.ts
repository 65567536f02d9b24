// Every path of test/fixtures/paths.json, with every tool that takes a path and with the files of a brief, on real links. `allowed` names the tools
// that may use it; all others refuse.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AnyTool, ToolResult } from '../../src/ports/tool.ts';
import { edit } from '../../src/tools/edit.ts';
import { readWorkspaceFile } from '../../src/tools/files/workspace-reader.ts';
import { glob } from '../../src/tools/glob.ts';
import { grep } from '../../src/tools/grep.ts';
import { list } from '../../src/tools/list.ts';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { canary, createPathFixture, type PathFixture } from './path-fixture.ts';
import { call } from './support.ts';

interface Entry {
  kind: string;
  path: string;
  allowed: string[];
}

const entries = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/paths.json'), 'utf8')) as Entry[];

test('the corpus is complete and has no duplicates', () => {
  expect(entries.length).toBeGreaterThanOrEqual(240);
  expect(new Set(entries.map(({ path }) => path)).size).toBe(entries.length);
});

describe.each([...Map.groupBy(entries, ({ kind }) => kind)])('%s', (_, those) => {
  test(`${those.length} paths`, { timeout: 60_000 }, async () => {
    // A refused path changes nothing, so the fixture is created anew only after a write.
    let fixture: PathFixture | null = null;
    try {
      for (const { path, allowed } of those) {
        fixture ??= await createPathFixture();
        const before = fixture.guarded();
        const { done, outputs } = await everyTool(fixture, fixture.pathOf(path));
        expect(done, JSON.stringify(path)).toEqual(allowed);
        expect(outputs.filter((output) => output.includes(canary))).toEqual([]);
        expect(fixture.guarded(), JSON.stringify(path)).toEqual(before);
        if (allowed.length === 0) continue;
        await fixture[Symbol.asyncDispose]();
        fixture = null;
      }
    } finally {
      await fixture?.[Symbol.asyncDispose]();
    }
  });
});

/** Which tools used the path, and all their outputs. */
async function everyTool({ workspace }: PathFixture, path: string): Promise<{ done: string[]; outputs: string[] }> {
  const memo = new Map<string, string>();
  const made: Record<string, ToolResult> = {};
  const use = (tool: AnyTool, input: object, kept = memo) => tryIt(() => call(tool, workspace, { path, ...input }, { memo: kept }));
  made.read = await use(read, {});
  made.brief = await inBrief(workspace, path);
  made.list = await use(list, {});
  made.glob = await use(glob, { pattern: '**' });
  made.grep = await use(grep, { pattern: '.' });
  made.edit = await use(edit, { old: 'plain', new: 'edited' });
  // As a run that has read nothing, so that write is not refused after edit.
  made.write = await use(write, { content: 'x' }, new Map());
  const results = Object.entries(made);
  return { done: results.flatMap(([name, { isError }]) => (isError ? [] : [name])), outputs: results.map(([, { output }]) => output) };
}

/** A path that the schema rejects counts as refused. */
async function tryIt(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    return { output: String(error), isError: true };
  }
}

async function inBrief(workspace: string, path: string): Promise<ToolResult> {
  const file = await readWorkspaceFile(workspace, path, 1000);
  return file.ok ? { output: file.text } : { output: file.reason, isError: true };
}
