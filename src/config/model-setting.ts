// The setting `model`: one name, a list, or one of these for each agent.

import { anyAgent } from '../kernel/admission/model-routes.ts';
import { nearestName } from '../text/suggest.ts';
import type { Config } from './schema.ts';
import type { ConfiguredAgents, Settings, Sourced } from './settings.ts';

/** Models in order, by agent. */
export function modelToRoutes(model: Config['model']): Record<string, string[]> {
  if (model === undefined) return {};
  if (typeof model === 'string' || Array.isArray(model)) return { [anyAgent]: [model].flat() };
  return Object.fromEntries(Object.entries(model).map(([agent, names]) => [agent, [names].flat()]));
}

/** Agent by agent, the last layer that names one counts. `own`: the flag or variable, which replaces them all. */
export function findModels(layers: { from: string; config: Config }[], own: Sourced<string> | null): Pick<Settings, 'model' | 'routes'> {
  if (own) return { model: own, routes: {} };
  const routes: Settings['routes'] = {};
  for (const { from, config } of layers)
    for (const [agent, value] of Object.entries(modelToRoutes(config.model))) routes[agent] = { from, value };
  const all = routes[anyAgent];
  return { model: all ? { from: all.from, value: all.value[0] as string } : null, routes };
}

/** Routes of agents that do not exist. Agents of dialects have a `/` in their name and are not known here. */
export function findUnusedRoutes({ routes }: Pick<Settings, 'routes'>, { list }: Pick<ConfiguredAgents, 'list'>): string[] {
  const names = list.map(({ name }) => name);
  return Object.entries(routes).flatMap(([agent, { from }]) => {
    if (agent === anyAgent || agent.includes('/') || names.includes(agent)) return [];
    const near = nearestName(agent, names);
    return [`\`model.${agent}\` in ${from} has no effect: there is no agent ${agent}${near === null ? '' : `; did you mean \`${near}\`?`}`];
  });
}

/** The routes as the kernel uses them. */
export function plainRoutes({ routes }: Pick<Settings, 'routes'>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(routes).map(([agent, { value }]) => [agent, value]));
}
