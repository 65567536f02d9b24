// Reviews a diff from four angles at the same time. A fifth agent checks every finding against the code, so that only confirmed ones are reported.
//
//   retinue flow run examples/flows/review.ts --input '{"base":"main"}'
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { defineFlow } from 'retinue/flow';

interface Finding {
  file: string;
  line: number;
  severity: 'low' | 'medium' | 'high';
  problem: string;
}

const angles = {
  correctness: 'wrong results, unhandled errors, races, and cases that the change forgets',
  security: 'input that is trusted too early, secrets, injection, and permissions',
  tests: 'behaviour that changed without a test, and tests that cannot fail',
  clarity: 'names, structure and comments that mislead the next reader',
};

const finding = {
  type: 'object',
  required: ['file', 'line', 'severity', 'problem'],
  properties: {
    file: { type: 'string' },
    line: { type: 'integer' },
    severity: { enum: ['low', 'medium', 'high'] },
    problem: { type: 'string' },
  },
};
const findings = { type: 'object', required: ['findings'], properties: { findings: { type: 'array', items: finding } } };
const verdict = {
  type: 'object',
  required: ['confirmed', 'reason'],
  properties: { confirmed: { type: 'boolean' }, reason: { type: 'string' } },
};
const input = {
  type: 'object',
  properties: { base: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9/._-]*$' }, diff: { type: 'string' } },
};

export default defineFlow<{ base?: string; diff?: string }, { confirmed: Finding[]; dismissed: number }>(
  'review',
  input,
  async (flow, { base = 'HEAD', diff: given }) => {
    const diff = given ?? (await flow.step('git diff', () => readDiff(base), { idempotent: true }));
    if (diff.trim() === '') return { confirmed: [], dismissed: 0 };
    const reviews = await flow.all(
      Object.entries(angles).map(([angle, about]) =>
        flow.delegate<{ findings: Finding[] }>({
          task: `Review this change. Look only for ${about}. Read the files around it before you report something.`,
          context: diff,
          agent: 'explore',
          label: angle,
          result: { schema: findings },
        }),
      ),
    );
    const all = reviews.flatMap(({ data }) => data?.findings ?? []);
    flow.log(`${all.length} findings to verify`);
    const checked = await flow.map(all, async (each) => {
      const { data } = await flow.delegate<{ confirmed: boolean }>({
        task: `Somebody reported a problem. Try to refute it: read the code, and confirm it only if it is real.\n\n${JSON.stringify(each)}`,
        context: diff,
        agent: 'explore',
        label: `verify ${each.file}:${each.line}`,
        result: { schema: verdict },
      });
      return { each, isConfirmed: data?.confirmed === true };
    });
    const confirmed = checked.filter(({ isConfirmed }) => isConfirmed).map(({ each }) => each);
    return { confirmed, dismissed: all.length - confirmed.length };
  },
);

async function readDiff(base: string): Promise<string> {
  const { stdout } = await promisify(execFile)('git', ['diff', '--end-of-options', base], { maxBuffer: 1_000_000 });
  return stdout;
}
