// The time from `delegate` to the first model request of a child in a separate process, and the speed of replay.
import { resolve } from 'node:path';
import { createProcessExecutor } from '../src/hosts/process.ts';
import { loadPinned } from '../src/kernel/recovery/history.ts';
import { replayRun } from '../src/records/replay.ts';
import { createProcessGuard } from '../src/system/process-guard.ts';
import { withRuntime } from './support.ts';

/** Milliseconds of each start, one after the other. */
export async function measureProcessStarts(rounds: number): Promise<number[]> {
  const command = [process.execPath, resolve(import.meta.dirname, '../bin/retinue.js'), '--child-run'];
  const executor = createProcessExecutor({ command, env: process.env, marks: createProcessGuard().marks });
  return withRuntime(
    'sqlite',
    async (runtime) => {
      const times: number[] = [];
      const client = await runtime.openClient();
      for (let round = 0; round < rounds; round++) {
        const start = performance.now();
        const firstRequest = new Promise<void>((done) => {
          const end = runtime.listen((event) => {
            if (event.type !== 'model.asked') return;
            end();
            done();
          });
        });
        const run = await client.delegate({ task: 'say done', agent: 'explore' });
        await firstRequest;
        times.push(performance.now() - start);
        await run.outcome;
      }
      await client.close();
      return times;
    },
    { executor },
  );
}

/** Facts replayed per second, over the journals of 200 runs. */
export async function measureReplay(): Promise<number> {
  return withRuntime('memory', async (runtime, store) => {
    const client = await runtime.openClient();
    for (let n = 0; n < 200; n++) await (await client.delegate({ task: `say done ${n}`, agent: 'explore' })).outcome;
    await client.close();
    const rows = await store.runs({});
    const journals = await Promise.all(
      rows.map(async ({ runId }) => {
        const facts = await store.facts({ runId });
        const started = facts.find((fact) => fact.type === 'run.started');
        return { facts, pinned: started?.data.system ? await loadPinned(runId, started.data, store) : null };
      }),
    );
    let facts = 0;
    const start = performance.now();
    for (let round = 0; round < 20; round++)
      for (const journal of journals) {
        const { difference } = replayRun(journal.facts, journal.pinned);
        if (difference) throw new Error(JSON.stringify(difference));
        facts += journal.facts.length;
      }
    return facts / ((performance.now() - start) / 1000);
  });
}
