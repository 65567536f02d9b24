// Which models a run uses, in order. It falls back to the next one if a provider keeps failing, or if its budget cannot pay for a call.
import type { Agent } from '../../contract/agent.ts';
import type { Brief } from '../../contract/brief.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';

/** The entry of routes for agents without one. */
export const anyAgent = '*';

interface ChosenModels {
  names: string[];
  /** Neither the brief nor the definition of the agent has the list, so `run.created` must. */
  isRecorded: boolean;
}

type ModelSettings = Pick<Services['settings'], 'model' | 'routes'>;

/** The default models of a process, as a flow records them; undefined if there are none. */
export function settingsToModels({ model, routes = {} }: ModelSettings): Record<string, string[]> | undefined {
  const models = Object.fromEntries(Object.entries(routes).map(([agent, names]) => [agent, [...names]]));
  if (model !== null) models[anyAgent] = [model, ...(models[anyAgent] ?? []).slice(1)];
  return Object.keys(models).length === 0 ? undefined : models;
}

/** The default models for a child: those that the flow of its tree began with, whatever process drives it now; otherwise those of this process. */
export function findModelSettings(parent: Run | null, settings: ModelSettings): ModelSettings {
  for (let run = parent; run; run = run.parent) {
    const routes = run.state.created.data.flow?.models;
    if (routes) return { model: routes[anyAgent]?.[0] ?? null, routes };
  }
  return settings;
}

/** The brief decides, then the route of the agent, its definition, the parent run, the default. */
export function chooseModels(brief: Brief, agent: Agent, parent: Run | null, { model, routes = {} }: ModelSettings): ChosenModels {
  if (brief.model !== undefined) return { names: [brief.model], isRecorded: false };
  const route = agent.name !== anyAgent && Object.hasOwn(routes, agent.name) ? routes[agent.name] : undefined;
  if (route) return { names: [...route], isRecorded: true };
  if (agent.model !== undefined) return { names: [agent.model].flat(), isRecorded: false };
  const inherited = parent?.work ? currentModels(parent) : [];
  if (inherited.length > 0) return { names: inherited, isRecorded: inherited.length > 1 };
  const fallbacks = Object.hasOwn(routes, anyAgent) ? (routes[anyAgent] ?? []).slice(1) : [];
  return model === null ? { names: [], isRecorded: false } : { names: [model, ...fallbacks], isRecorded: fallbacks.length > 0 };
}

/** The model that a run uses now, and those it can still fall back to. */
function currentModels({ work, state }: Run): string[] {
  if (!work) return [];
  if (work.model.modelsForChildren) return work.model.modelsForChildren;
  const current = state.fallback?.model ?? work.model.id;
  return [current, ...work.fallbacks.slice(work.fallbacks.indexOf(current) + 1)];
}
