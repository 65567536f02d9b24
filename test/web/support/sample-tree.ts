// A tree with a run in each state that the dashboard shows: running, waiting for approval, completed with a change, failed. It stays as it is.
import type { DashboardOptions } from './dashboard.ts';
import { delegate, playTasks } from './play-tasks.ts';
import type { Served } from './served.ts';

const change = { path: 'src/greet.ts', old: "'Hello'", new: "'Good morning'" };

export const sampleOptions = {
  config: { rules: ['ask bash:npm *'] },
  files: { 'src/greet.ts': "export const greeting = 'Hello';\n", 'src/index.ts': "export { greeting } from './greet.ts';\n" },
  answer: playTasks({
    'look after the project': [
      {
        text: 'I give each part to **one** agent.',
        ...delegate(
          { task: 'change the greeting', label: 'greeting', context: 'The greeting is shown in the morning.' },
          { task: 'publish the package', label: 'publish' },
          { task: 'watch the build', label: 'watch', agent: 'explore' },
          { task: 'find the licence', label: 'licence', agent: 'explore' },
        ),
      },
    ],
    'change the greeting': [
      { reasoning: 'The file has to be read first.', calls: [{ tool: 'read', args: { path: 'src/greet.ts' } }] },
      { text: 'Now I change it.', calls: [{ tool: 'edit', args: change }] },
      { text: '# Done\n\nThe greeting is `Good morning` now.\n\n- one file\n- one line' },
    ],
    'publish the package': [{ text: 'This needs the registry.', calls: [{ tool: 'bash', args: { command: 'npm publish --dry-run' } }] }],
    'watch the build': [
      { calls: [{ tool: 'list', args: { path: 'src' } }] },
      { text: 'The build goes on', fault: { kind: 'stall', pings: true } },
    ],
    'find the licence': [
      { calls: [{ tool: 'read', args: { path: 'LICENSE' } }] },
      { fault: { kind: 'status', status: 400, message: 'the prompt is too long' } },
    ],
  }),
} satisfies DashboardOptions;

export interface SampleTree {
  rootId: string;
  /** Run ids by label. */
  ids: Record<string, string>;
}

/** Starts the tree and waits until each run is in its state. */
export async function startSample({ client }: Served): Promise<SampleTree> {
  const { runId } = await client.start({ task: 'look after the project', label: 'project' });
  const wanted: Record<string, string> = {
    project: 'running',
    greeting: 'completed',
    publish: 'waiting',
    watch: 'running',
    licence: 'failed',
  };
  for (;;) {
    const { runs } = await client.tree(runId);
    const isReady =
      runs.length === 5 &&
      runs.every(({ name, status }) => wanted[name] === status) &&
      runs.some(({ name, turn }) => name === 'watch' && turn === 2);
    if (isReady) return { rootId: runId, ids: Object.fromEntries(runs.map(({ name, id }) => [name, id])) };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
