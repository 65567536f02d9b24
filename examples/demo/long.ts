// `retinue demo long`: one run of 500 turns on a model with a window of 16,384 tokens. The model is made of rules and knows only what is in its requests; the
// files, the tool calls, the compactions and the log are real. All numbers are counted from the log and from the requests.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRetinue } from 'retinue';
import { openSqliteStore } from 'retinue/sqlite';
import { checkInvariants } from 'retinue/testing';
import { createNoteReader, noteName } from './long/model.ts';

const window = 16_384;
const turns = 500;
const maxCostUsd = 3;
/** US dollars per million tokens. */
const price = { input: 1, cached: 0.1, output: 5 };
const reportEvery = 100;

export interface LongDemoResult {
  db: string;
  status: string;
  turns: number;
  window: number;
  /** Tokens of the largest request. */
  largest: number;
  compactions: number;
  tokens: { input: number; output: number; cached: number };
  costUsd: number | null;
  maxCostUsd: number;
  answer: string;
  isRemembered: boolean;
  facts: number;
  faults: string[];
}

/** `report` gets a line for every hundred turns. */
export async function runLongDemo(report: (line: string) => void): Promise<LongDemoResult> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-demo-'));
  const workspace = join(folder, 'notes');
  mkdirSync(workspace);
  const codeWord = `heron-${1 + Math.floor(Math.random() * 9999)}`;
  for (let n = 1; n < turns; n++) writeFileSync(join(workspace, noteName(n)), n === 1 ? `The code word is ${codeWord}.\n` : diaryPage(n));
  const db = join(folder, 'retinue.db');
  const store = await openSqliteStore({ path: db });
  const { model, seen } = createNoteReader({
    notes: turns - 1,
    window,
    onTurn: (turn) => {
      if (turn % reportEvery === 0)
        report(`turn ${turn}: compactions so far: ${seen.compactions}; the largest request had ${seen.largest} of ${window} tokens\n`);
    },
  });
  const modelId = 'demo/note-reader';
  await using retinue = createRetinue({
    model,
    store,
    workspace,
    sandbox: 'off',
    prices: { [modelId]: price },
    limits: { maxTurns: turns, maxTokens: 10_000_000, maxCostUsd },
    compaction: { models: { [modelId]: { contextWindow: window } } },
  });
  const run = await retinue.delegate({
    task: 'Read all notes in order. Then say what the code word in the first one is.',
    agent: 'explore',
  });
  const outcome = await run.outcome;
  const faults = await checkInvariants(store);
  const facts = await store.facts({ runId: outcome.runId });
  const { input, output, cached } = outcome.tokens;
  return {
    db,
    status: outcome.status,
    turns: outcome.turns,
    window,
    largest: seen.largest,
    compactions: facts.filter((fact) => fact.type === 'context.compacted').length,
    tokens: { input, output, cached },
    costUsd: outcome.costUsd,
    maxCostUsd,
    answer: outcome.summary,
    isRemembered: outcome.summary.includes(codeWord),
    facts: facts.length,
    faults: faults.map(({ invariant, what }) => `${invariant}: ${what}`),
  };
}

function diaryPage(n: number): string {
  return `Day ${n}. ${'Wind from the west, light rain, no ships in sight. '.repeat(8)}\n`;
}
