// The model gate: what a model call of an external agent costs beyond the same call without the gate. A real run: the agent is a process of its own, its
// calls go over the relay and the gate, and each answer is durable in SQLite before the agent gets it. The provider answers at once and in one piece,
// so that withholding an answer costs nothing here.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createExternalAgents } from '../src/externals/index.ts';
import { createModels } from '../src/models/models.ts';
import { createProviders } from '../src/models/providers.ts';
import { createProcessGuard } from '../src/system/process-guard.ts';
import { startProviderServer } from '../src/testing/provider-server.ts';
import { withRuntime } from './support.ts';

export interface GateFigures {
  directMs: number;
  gatedMs: number;
}

const model = 'anthropic/bench';
const program = resolve(import.meta.dirname, 'gate-agent.mjs');
/** Left out: the first calls of a process are slower. */
const warmUp = 50;

/** Medians of calls in turn, with requests of this size. */
export async function measureGate({ calls, bytes }: { calls: number; bytes: number }): Promise<GateFigures> {
  const provider = await startProviderServer({ answer: () => ({ text: 'Hello.', usage: { input: 10, output: 1 } }) });
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const env = { PATH: process.env.PATH, HOME: folder, ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: provider.url };
  const script = JSON.stringify({ direct: provider.url, calls: calls + warmUp, bytes });
  const runs = { acp: [process.execPath, program, script] };
  const { marks } = createProcessGuard();
  try {
    return await withRuntime(
      'sqlite',
      async (runtime) => {
        let said = '';
        runtime.listen((event) => {
          if (event.type === 'delta') said += event.text;
        });
        const run = await runtime.start({ task: 'measure', agent: 'bench', limits: { maxTurns: 500 } });
        const { error } = await run.outcome;
        if (error) throw new Error(error.message);
        const { direct, gated } = JSON.parse(said) as { direct: number[]; gated: number[] };
        return { directMs: median(direct.slice(warmUp)), gatedMs: median(gated.slice(warmUp)) };
      },
      {
        model,
        models: createModels({ providers: createProviders({ env }) }),
        agents: [{ name: 'bench', description: '', prompt: '', source: 'bench', tools: [], runs }],
        externals: createExternalAgents({ env, folder: join(folder, 'externals'), sandbox: null, closed: null, marks }),
      },
    );
  } finally {
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
