// `retinue demo merge`: a small project in a temporary folder, and a scripted model that delegates to three writers. Two of them change different
// lines of the same file, the third one a line that the first one changed too. Everything around the model is real.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface MergeDemo {
  about: string;
  task: string;
  workspace: string;
  model: string;
  db: string;
}

const source = `// Prices of an order.

/** The price of all items, in cents. */
export function total(items) {
  let sum = 0;
  for (let i = 0; i < items.length; i++) sum = sum + items[i].price;
  return sum;
}

/** With tax. */
export function gross(items) {
  return total(items) * 1.19;
}

export function label(items) {
  return items.length + ' items, ' + gross(items) / 100 + ' EUR';
}
`;

const usage = { input: 1200, output: 120 };
const readSource = { usage, calls: [{ tool: 'read', args: { path: 'order.js' } }] };
const edit = (old: string, now: string) => ({ tool: 'edit', args: { path: 'order.js', old, new: now } });
const loop = '  let sum = 0;\n  for (let i = 0; i < items.length; i++) sum = sum + items[i].price;\n  return sum;';

const writers = [
  {
    label: 'simplify',
    task: 'Simplify `total` in order.js.',
    calls: [edit(loop, '  return items.reduce((sum, { price }) => sum + price, 0);')],
    report: 'total now uses reduce.',
  },
  {
    label: 'round',
    task: 'Make `gross` in order.js return whole cents, and test it.',
    calls: [
      edit('total(items) * 1.19', 'Math.round(total(items) * 1.19)'),
      {
        tool: 'write',
        args: { path: 'order.test.js', content: "import { gross } from './order.js';\n\nconsole.assert(gross([{ price: 10 }]) === 12);\n" },
      },
    ],
    report: 'gross rounds to cents; order.test.js checks it.',
  },
  {
    label: 'quantities',
    task: 'Let items in order.js have a quantity.',
    calls: [edit('sum = sum + items[i].price', 'sum += items[i].price * (items[i].quantity ?? 1)')],
    report: 'total multiplies by quantity.',
  },
];

/** Creates the workspace and the script in a temporary folder. */
export function createMergeDemo(): MergeDemo {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-demo-'));
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'order.js'), source);
  const script = join(folder, 'script.json');
  const tasks = writers.map(({ label, task }) => ({ task, label, isolation: 'worktree' }));
  const children = writers.map(({ label, calls, report }) => ({
    when: { label },
    steps: [readSource, { usage, calls }, { usage, text: report }],
  }));
  const root = {
    steps: [
      { usage, calls: [{ tool: 'delegate', args: { tasks } }] },
      { usage, text: 'Three changes are ready.' },
    ],
  };
  writeFileSync(script, JSON.stringify({ runs: [...children, root] }));
  return {
    about: 'a scripted model sends three writers to the same file, each with its own copy; copies, patches and merges are real',
    task: 'Improve order.js with three writers in parallel.',
    workspace,
    model: `script/${script}`,
    db: join(folder, 'retinue.db'),
  };
}
