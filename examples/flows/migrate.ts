// Changes many files in the same way: one agent per file, each in a copy of the workspace. What succeeds is merged; the rest is reported.
//
//   retinue flow run examples/flows/migrate.ts --input '{"files":["a.js","b.js"],"change":"use import instead of require"}'
import { defineFlow } from 'retinue/flow';

interface Input {
  files: string[];
  change: string;
  /** Ask before the changes are merged. */
  ask?: boolean;
}

const input = {
  type: 'object',
  required: ['files', 'change'],
  properties: {
    files: { type: 'array', items: { type: 'string' }, minItems: 1, uniqueItems: true },
    change: { type: 'string' },
    ask: { type: 'boolean' },
  },
};

export default defineFlow<Input, { merged: string[]; failed: string[]; conflicts: string[] }>(
  'migrate',
  input,
  async (flow, { files, change, ask = false }) => {
    const results = await flow.map(
      files,
      async (file) => ({
        file,
        outcome: await flow.delegate({
          task: `Change ${file} and no other file: ${change}`,
          label: file,
          isolation: 'worktree',
        }),
      }),
      { concurrency: 4 },
    );
    const failed = results.filter(({ outcome }) => !outcome.success).map(({ file }) => file);
    const done = results.filter(({ outcome }) => outcome.success && outcome.artifacts.length > 0);
    if (ask && !(await flow.ask(`Merge the changes of ${done.length} files?`)).approved) return { merged: [], failed, conflicts: [] };
    const { applied, conflicts } = await flow.apply(done.map(({ outcome }) => outcome));
    const toFiles = (runIds: string[]) => done.filter(({ outcome }) => runIds.includes(outcome.runId)).map(({ file }) => file);
    return { merged: toFiles(applied), failed, conflicts: toFiles(conflicts.map(({ runId }) => runId)) };
  },
);
