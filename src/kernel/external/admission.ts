// Admission of runs that an external agent carries out.
import { z } from 'zod';
import type { Agent } from '../../contract/agent.ts';
import { RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { ModelHandle } from '../../ports/model.ts';
import type { AnyTool } from '../../ports/tool.ts';
import type { Services } from '../services.ts';

type External = FactData['run.created']['external'];

/** Throws `agent_program` if this process cannot start external agents. */
export function findExternal({ name, runs }: Agent, { externals }: Pick<Services, 'externals'>): External {
  if (!runs) return undefined;
  if (!externals) throw new RetinueError('agent_program', `agent ${name} runs an external program, which this process cannot start`);
  return { agent: externals.nameOf(runs), gated: runs.login !== 'own' };
}

/** The gate of a run serves one model, and the agent itself retries. Throws `invalid_brief`. */
export function assertOneModel({ name, model }: Agent, external: External, route: readonly string[] | undefined): void {
  const fallbacks = (route ?? [model ?? []].flat()).slice(1);
  if (!external || fallbacks.length === 0) return;
  const advice = `name one in \`model\`, without ${fallbacks.join(', ')}`;
  throw new RetinueError('invalid_brief', `agent ${name} runs an external program, which uses one model and no fallback models: ${advice}`);
}

/** Stands for the model of an agent with its own login: Retinue does not call it and does not know its price. */
export function createOwnLoginModel({ name, model }: Agent, external: External): ModelHandle | null {
  if (!external || external.gated) return null;
  const id = typeof model === 'string' ? model : `${external.agent}/own-login`;
  const refuse = async (): Promise<never> => {
    throw new RetinueError('agent_program', `agent ${name} uses its own login, so its model cannot be called by Retinue`);
  };
  return {
    id,
    lane: id,
    model: { specificationVersion: 'v4', provider: external.agent, modelId: id, supportedUrls: {}, doGenerate: refuse, doStream: refuse },
    contextWindow: null,
    maxOutputTokens: null,
    price: null,
  };
}

/** Tools of the agent that have no counterpart here: rules see their name and nothing else. */
const prefix = 'acp__';

/** Adds an entry for every name of such a tool. */
export function withExternalTools(tools: ReadonlyMap<string, AnyTool>): ReadonlyMap<string, AnyTool> {
  const map = new Map(tools);
  const get = (name: string) => map.get(name) ?? (name.startsWith(prefix) ? createExternalTool(name) : undefined);
  return Object.assign(new Map(map), { get });
}

function createExternalTool(name: string): AnyTool {
  return {
    name,
    description: 'a tool of an external agent',
    input: z.unknown(),
    isExternal: true,
    readOnly: false,
    idempotent: false,
    subjects: () => [],
    execute: async () => ({ output: `${name} is executed by the external agent`, isError: true }),
  };
}
