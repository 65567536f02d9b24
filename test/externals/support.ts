// A runtime with the fake external agent and, where wanted, a fake provider behind the model gate.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCheckouts } from '../../src/config/checkouts.ts';
import type { Agent } from '../../src/contract/agent.ts';
import { createExternalHomes } from '../../src/externals/homes.ts';
import { createExternalAgents, type ExternalAgentsOptions } from '../../src/externals/index.ts';
import { createModels } from '../../src/models/models.ts';
import { withPrices } from '../../src/models/prices.ts';
import { createProviders } from '../../src/models/providers.ts';
import { createScriptModels } from '../../src/models/script.ts';
import { findSandbox } from '../../src/sandboxes/find-sandbox.ts';
import { systemClock } from '../../src/system/clock.ts';
import { createProcessGuard } from '../../src/system/process-guard.ts';
import type { ProviderServerOptions } from '../../src/testing/provider-server.ts';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

export const fakeAgent = join(import.meta.dirname, 'fake-agent.mjs');
export const realKey = 'sk-real-key-0123456789';

export interface ExternalWorldOptions extends WorldOptions {
  script: object;
  /** Answers of the provider; without them the agent uses its own login. */
  answer?: ProviderServerOptions['answer'];
  agent?: Partial<Agent>;
  isConfined?: boolean;
  externals?: Partial<ExternalAgentsOptions>;
}

export interface ExternalWorld extends World {
  provider: Awaited<ReturnType<typeof startProviderServer>> | null;
  state: string;
  /** Where folders for sockets are. */
  temporary: string;
}

export async function createExternalWorld({
  script,
  answer,
  agent,
  isConfined = false,
  externals,
  ...rest
}: ExternalWorldOptions): Promise<ExternalWorld> {
  const provider = answer ? await startProviderServer({ answer }) : null;
  const state = mkdtempSync(join(tmpdir(), 'retinue-external-'));
  const env = {
    ...process.env,
    XDG_STATE_HOME: state,
    ANTHROPIC_API_KEY: realKey,
    ANTHROPIC_BASE_URL: provider?.url,
    OPENAI_API_KEY: realKey,
    OPENAI_BASE_URL: provider?.url,
    RETINUE_API_KEY: realKey,
    RETINUE_BASE_URL: provider?.url,
  };
  const found = isConfined ? await findSandbox({ env: process.env, workspace: '/nonexistent', secret: [] }) : null;
  if (found && !found.ok) throw new Error(found.reason);
  const login = provider ? {} : { login: 'own' as const };
  const definition: Agent = {
    name: 'fake',
    description: '',
    prompt: 'You are a fake.',
    source: 'test',
    runs: { acp: [fakeAgent, JSON.stringify(script)], ...login },
    ...agent,
  };
  const providers = createProviders({ env });
  const scripted = createScriptModels({
    clock: systemClock,
    readFile: async () => JSON.stringify({ runs: [{ steps: [{ text: 'done' }] }] }),
  });
  const models = withPrices(createModels({ providers: { ...providers, script: scripted } }), {
    'anthropic/claude-test': { input: 3, output: 15 },
    'openai-compatible/test': { input: 3, output: 15 },
    'openai/gpt-test': { input: 3, output: 15 },
  });
  const temporary = mkdtempSync(join(tmpdir(), 'retinue-sockets-'));
  const homes = createExternalHomes({ folder: join(state, 'externals'), temporary });
  const world = await createWorld({
    agents: [definition],
    tools: [createBash({ sandbox: null, closed: null })],
    ...rest,
    settings: { model: provider ? 'anthropic/claude-test' : 'script/main', ...rest.settings },
    options: {
      models,
      checkouts: openCheckouts({ env, workspace: '/nonexistent', db: null }),
      homes,
      externals: createExternalAgents({
        env,
        folder: homes.folder,
        temporary,
        sandbox: found?.ok ? found.sandbox : null,
        closed: null,
        marks: createProcessGuard().marks,
        ...externals,
      }),
      ...rest.options,
    },
  });
  return {
    ...world,
    provider,
    state,
    temporary,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await provider?.close();
      for (const folder of [state, temporary]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Living processes whose command line or environment contains the text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return false;
        return ['cmdline', 'environ'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(text));
      } catch {
        return false;
      }
    })
    .map(Number);
}
