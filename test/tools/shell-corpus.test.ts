// Every entry of the corpus is decided as expected. No entry that expects ask or deny may be allowed.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { RuleAction } from '../../src/contract/grant.ts';
import { loadParser } from '../../src/tools/shell/analysis/parser.ts';
import { decideCommand, narrowedTo, ownerRules } from './shell-support.ts';
import { makeWorkspace } from './support.ts';

interface Entry {
  rules: string;
  expect: RuleAction;
  command: string;
  why: string;
}
const file = join(import.meta.dirname, '../fixtures/shell-corpus.json');
const corpus = JSON.parse(readFileSync(file, 'utf8')) as { rulesets: Record<string, string[]>; entries: Entry[] };

beforeAll(loadParser);

test('the corpus of shell commands', () => {
  const { workspace, outside } = makeWorkspace();
  plant(workspace, outside);
  const wrong: string[] = [];
  let wronglyAllowed = 0;
  const counts = { allow: 0, ask: 0, deny: 0 };
  for (const entry of corpus.entries) {
    const rules = ownerRules(...(corpus.rulesets[entry.rules] as string[]));
    const action = decideCommand(entry.rules === 'no writing' ? [...rules, narrowedTo('bash', 'read')] : rules, entry.command, workspace);
    counts[entry.expect]++;
    if (action === entry.expect) continue;
    if (action === 'allow') wronglyAllowed++;
    wrong.push(`${entry.rules}: ${JSON.stringify(entry.command)} is ${action}, not ${entry.expect} (${entry.why})`);
  }
  const { length } = corpus.entries;
  console.log(
    `shell corpus: ${length} entries (${counts.allow} allow, ${counts.ask} ask, ${counts.deny} deny), ${wronglyAllowed} wrongly allowed`,
  );
  expect(wrong).toEqual([]);
  expect(length).toBeGreaterThanOrEqual(320);
});

/** What a hostile repository may contain: links that stay inside, links that lead out, and a repository as a directory. */
function plant(workspace: string, outside: string): void {
  for (const folder of ['deep/b/c/d', 'sub.git/hooks', 'named.git', 'evil', 'https:', '.claude'])
    mkdirSync(join(workspace, folder), { recursive: true });
  writeFileSync(join(outside, 'secret'), 'secret');
  symlinkSync('.', join(workspace, 'up'));
  symlinkSync('../../../..', join(workspace, 'deep/b/c/d/up'));
  symlinkSync('../outside/secret', join(workspace, 'leading-out'));
  symlinkSync('../../outside', join(workspace, 'https:/host'));
}

test('the corpus has no duplicates', () => {
  const keys = corpus.entries.map(({ rules, command }) => JSON.stringify([rules, command]));
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
});
