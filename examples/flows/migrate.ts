// Changes many files in the same way: one agent per file, each in a copy of the workspace. What succeeds is merged; the rest is reported: files
// whose agent failed or changed nothing, and those that others have changed meanwhile.
//
//   retinue flow run examples/flows/migrate.ts --input '{"files":["a.js","b.js"],"change":"use import instead of require"}'
//
// Without a key and without a network, with scripted agents on a small shop; `retinue undo last -C examples/flows/shop` takes the changes back:
//
//   retinue flow run examples/flows/migrate.ts -C examples/flows/shop --model script/migrate.json --input @examples/flows/shop/migration.json
import { defineFlow, type FlowOutcome } from 'retinue/flow';

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

interface Migration {
  merged: string[];
  unchanged: string[];
  failed: string[];
  conflicts: string[];
}

export default defineFlow<Input, Migration>('migrate', input, async (flow, { files, change, ask = false }) => {
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
  const failures = results.filter(({ outcome }) => !outcome.success);
  if (failures.length === files.length) throw new Error(`no file could be changed: ${failures[0]?.outcome.error?.message}`);
  const failed = failures.map(({ file }) => file);
  const succeeded = results.filter(({ outcome }) => outcome.success);
  const done = succeeded.filter(({ outcome }) => hasChanges(outcome));
  const unchanged = succeeded.filter(({ outcome }) => !hasChanges(outcome)).map(({ file }) => file);
  if (ask && !(await flow.ask(`Merge the changes of ${done.length} files?`)).approved)
    return { merged: [], unchanged, failed, conflicts: [] };
  const { applied, conflicts } = await flow.apply(done.map(({ outcome }) => outcome));
  const toFiles = (runIds: string[]) => done.filter(({ outcome }) => runIds.includes(outcome.runId)).map(({ file }) => file);
  return { merged: toFiles(applied), unchanged, failed, conflicts: toFiles(conflicts.map(({ runId }) => runId)) };
});

/** The runtime records what a run changed in its copy as a patch, whatever the agent says. */
function hasChanges({ artifacts }: FlowOutcome<unknown>): boolean {
  return artifacts.some(({ title }) => title === 'patch');
}
