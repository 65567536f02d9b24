// Rules see everything that bash really starts: generated command lines are analysed and then run with programs that only record their arguments.
// RETINUE_SHELL_SEED and RETINUE_SHELL_RUNS select other and more command lines.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isRetinueError } from '../../src/contract/error.ts';
import type { Subject } from '../../src/ports/subject.ts';
import { loadParser } from '../../src/tools/shell/analysis/parser.ts';
import { createLiteralWord, formatWords } from '../../src/tools/shell/analysis/read-word.ts';
import { shellSubjects } from '../../src/tools/shell/analysis/shell-subjects.ts';
import { startedBy } from './real-bash.ts';
import { calm, mangled, script } from './shell-generator.ts';

const seed = Number(process.env.RETINUE_SHELL_SEED ?? 42);
const runs = Number(process.env.RETINUE_SHELL_RUNS ?? 200);

beforeAll(loadParser);

test('bash starts nothing that was not reported', () => {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-shell-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const texts = [script, calm, mangled(script), mangled(calm)];
  const scripts = texts.flatMap((each) => fc.sample(each, { numRuns: runs, seed }));
  // Denied scripts are not run, and duplicates are run once.
  const judged = [...new Set(scripts)].flatMap((text) => subjectsOrNone(text).map((subjects) => ({ text, subjects })));
  const started = startedBy(
    folder,
    judged.map(({ text }) => text),
  );
  const missed: string[] = [];
  let calls = 0;
  let exact = 0;
  for (const [index, { text, subjects }] of judged.entries()) {
    const isSafe = subjects.every((subject) => typeof subject === 'string' || subject.unsafe === undefined);
    for (const call of started[index] as string[][]) {
      calls++;
      if (isSafe) exact++;
      if (!(isSafe ? isReported(call, subjects) : isNamed(call, subjects)))
        missed.push(`${JSON.stringify(text)} started ${JSON.stringify(call)}`);
    }
  }
  console.log(
    `shell against bash: ${scripts.length} scripts, ${judged.length} run, ${calls} programs started (${exact} of them by safe commands), ${missed.length} not reported`,
  );
  expect(missed).toEqual([]);
  expect(exact).toBeGreaterThan(runs / 4);
  expect(calls).toBeGreaterThan(runs);
}, 120_000);

function subjectsOrNone(text: string): Subject[][] {
  try {
    return [shellSubjects(text, '/nowhere/workspace')];
  } catch (error) {
    if (isRetinueError(error) && error.code === 'denied') return [];
    throw error;
  }
}

/** Whether a subject that an ordinary pattern can allow is exactly this call. */
function isReported(call: string[], subjects: Subject[]): boolean {
  const text = formatWords(call.map(createLiteralWord));
  return subjects.some((subject) => typeof subject === 'string' && (subject === text || isExpanded(subject, call)));
}

/** Names matched by a pattern, numbers and pipes are the only words of a safe command that are unknown before it runs. */
function isExpanded(subject: string, call: string[]): boolean {
  return /(^|\s)(\.\/\*|\w+[?[]|\$[?#$]|\$\(\(|<\()/.test(subject) && subject.split(' ', 1)[0] === call[0];
}

/** Whether a deny can find the program by name, or the command is marked as starting an unknown program. */
function isNamed([name]: string[], subjects: Subject[]): boolean {
  return subjects.some((subject) => {
    const { text, unsafe } = typeof subject === 'string' ? { text: subject } : subject;
    return text.split(' ', 1)[0] === name || unsafe === 'the program it starts is known only when it runs';
  });
}
