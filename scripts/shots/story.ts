// What the model answers in the pictures: one agent reviews a release and gives each area to another agent. The last answers never come, so that the
// state in which the pictures are taken stays as it is.
import { playTasks, type TaskStep } from '../../test/web/support/play-tasks.ts';

const forever = 3_600_000;

export const brief = {
  label: 'release review',
  task: 'Review release 2.4 before it is tagged. Give each area to one reviewer, fix what is safe to fix, and report what blocks the release.',
};

/** The command that waits for approval in the pictures. */
const askedCommand = 'npm run migrate -- --dry-run';
export const config = { rules: ['allow bash', `ask bash:npm *`], limits: { maxDepth: 2, firstByteMs: forever, idleMs: forever } };

const areas = [
  ['payments', 'general', 'Check that a payment is never charged twice. Fix it if it can be.'],
  ['sessions', 'general', 'Check how long sessions live and how they end.'],
  ['migrations', 'general', 'Check migrations 0041 and 0042 for locks and lost data.'],
  ['http api', 'explore', 'Compare the HTTP routes with the public documentation.'],
  ['error handling', 'general', 'Find errors that are swallowed or shown to customers.'],
  ['licences', 'research', 'Check the licences of all dependencies.'],
] as const;

function say(seconds: number, text: string, ...calls: [tool: string, args: object][]): TaskStep {
  const words = text.length + JSON.stringify(calls).length;
  return {
    ...(text === '' ? {} : { text }),
    calls: calls.map(([tool, args]) => ({ tool, args })),
    delayMs: seconds * 1000,
    usage: { input: 6_000 + 37 * words, output: 80 + 2 * words, cached: 4_000 },
  };
}

const retryFix = {
  path: 'src/payments/charge.ts',
  old: 'retry(() => gateway.charge(order.cents), { attempts: 5 })',
  new: 'retry(() => gateway.charge(order.cents, order.id), { attempts: 5 })',
};

const steps: Record<string, TaskStep[]> = {
  [brief.task]: [
    say(2, 'I start with an overview of the project.', ['glob', { pattern: 'src/**' }]),
    say(3, 'The release has six areas that can be reviewed at the same time.', [
      'delegate',
      { tasks: areas.map(([label, agent, task]) => ({ label, agent, task })), wait_seconds: 600 },
    ]),
  ],
  [areas[0][2]]: [
    say(3, '', ['read', { path: 'src/payments/charge.ts' }], ['read', { path: 'src/payments/retry.ts' }]),
    say(
      6,
      '`retry` repeats a charge up to five times, but the gateway gets no idempotency key. If an answer is lost after the money moved, the customer pays twice. ' +
        'The order id identifies the charge, and `Gateway.charge` already takes a key, so I pass it on.',
      ['edit', retryFix],
    ),
    say(
      4,
      'Other callers of the gateway would have the same fault, and the tests must still pass.',
      ['grep', { pattern: 'gateway\\.charge\\(', path: 'src' }],
      ['bash', { command: 'sh scripts/test.sh payments' }],
    ),
    say(4, 'There are none. A second agent writes a test that loses the answer of the first attempt.', [
      'delegate',
      {
        tasks: [{ label: 'retry test', agent: 'general', task: 'Write a test: the first answer of the gateway is lost.' }],
        wait_seconds: 600,
      },
    ]),
  ],
  'Write a test: the first answer': [say(3, '', ['read', { path: 'test/payments.test.ts' }]), { delayMs: forever }],
  [areas[1][2]]: [
    say(3, '', ['grep', { pattern: 'session', path: 'src' }]),
    say(3, '', ['bash', { command: 'sh scripts/test.sh sessions' }], ['read', { path: 'src/auth/session.ts' }]),
    say(
      7,
      'Sessions live for 30 days from their creation and cannot be ended earlier: signing out only deletes the cookie. This does not block the release.',
    ),
  ],
  [areas[2][2]]: [
    say(4, '', ['glob', { pattern: 'src/db/migrations/*.sql' }]),
    say(5, '', ['read', { path: 'src/db/migrations/0042_rate_not_null.sql' }]),
    say(
      6,
      '`0042` sets NOT NULL on a column that `0041` adds without a default: it fails as soon as one booking exists. A dry run against the local database shows how many rows are affected.',
      ['bash', { command: askedCommand }],
    ),
  ],
  [areas[3][2]]: [
    say(5, '', ['read', { path: 'src/http/routes.ts' }], ['read', { path: 'docs/api.md' }]),
    say(8, 'There is no `docs/api.md`. I look for the documentation elsewhere.', ['grep', { pattern: 'DELETE /bookings', path: '.' }]),
    say(9, 'All three routes are as documented in the README. `GET /health` is new and not documented.'),
  ],
  [areas[4][2]]: [
    say(4, '', ['grep', { pattern: 'catch', path: 'src' }]),
    say(3, '', ['bash', { command: 'sh scripts/test.sh errors' }]),
    {
      ...say(
        5,
        `I found one place so far. \`retry\` keeps only the last error, so the reason of the first failure is lost. ${'The log then shows '.repeat(60)}`,
      ),
      chunkSize: 12,
      chunkDelayMs: 400,
    },
  ],
  [areas[5][2]]: [
    say(6, '', ['read', { path: 'package.json' }]),
    { delayMs: 9_000, fault: { kind: 'status', status: 400, message: 'prompt is too long: 213441 tokens > 200000 maximum' } },
  ],
};

export const answer = playTasks(steps);
