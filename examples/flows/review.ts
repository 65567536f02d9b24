// Reviews a diff from four angles at the same time. A fifth agent checks every finding against the code, so that only confirmed ones are reported.
//
//   retinue flow run examples/flows/review.ts                             # what is not committed yet, with new files
//   retinue flow run examples/flows/review.ts --input '{"base":"main"}'    # what has changed since main
//
// Without a key and without a network, with scripted agents on a small shop:
//
//   retinue flow run examples/flows/review.ts -C examples/flows/shop --model script/review.json --input @examples/flows/shop/change.json
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
  type: ['object', 'null'],
  properties: { base: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9/._-]*$' }, diff: { type: 'string' } },
};

interface Review {
  confirmed: Finding[];
  dismissed: number;
  /** Findings whose verifier failed. */
  unverified: Finding[];
  /** Angles whose reviewer failed, with the reason. */
  failed: string[];
}

export default defineFlow<{ base?: string; diff?: string } | null, Review>('review', input, async (flow, wanted) => {
  const { base = 'HEAD', diff: given } = wanted ?? {};
  const diff = given ?? (await flow.step('git diff', () => readDiff(base, flow.workspace), { idempotent: true }));
  if (diff.trim() === '') throw new Error(`there is nothing to review: nothing has changed since ${base}`);
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
  const failed = reviews.filter(({ data }) => !data).map(({ label, error, status }) => `${label}: ${error?.message ?? status}`);
  if (failed.length === reviews.length) throw new Error(`nothing was reviewed: ${failed.join('; ')}`);
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
    return { each, verdict: data ? (data.confirmed ? 'confirmed' : 'dismissed') : 'unverified' };
  });
  const withVerdict = (wanted: string) => checked.filter(({ verdict }) => verdict === wanted).map(({ each }) => each);
  return {
    confirmed: withVerdict('confirmed'),
    dismissed: withVerdict('dismissed').length,
    unverified: withVerdict('unverified'),
    failed,
  };
});

/** What has changed below the folder, with paths relative to it, and the files that git does not know yet. */
async function readDiff(base: string, cwd: string): Promise<string> {
  const changed = await git(cwd, ['diff', '--relative', '--end-of-options', base]);
  const files = (await git(cwd, ['ls-files', '--others', '--exclude-standard', '-z'])).split('\0').filter((file) => file !== '');
  const added: string[] = [];
  for (const file of files) added.push(await git(cwd, ['diff', '--no-index', '--', '/dev/null', file]));
  return [changed, ...added].join('');
}

async function git(cwd: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', args, { cwd, maxBuffer: 1_000_000 });
    return stdout;
  } catch (error) {
    const { code, stdout, stderr, message } = error as { code?: unknown; stdout?: string; stderr?: string; message: string };
    // `git diff --no-index` ends with 1 if the files differ.
    if (code === 1 && args.includes('--no-index')) return stdout ?? '';
    const [reason] = (stderr?.trim() || message).split('\n', 1);
    throw new Error(`git ${args.join(' ')} failed in ${cwd}: ${reason}`);
  }
}
