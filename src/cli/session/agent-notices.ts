// Notices about the agents of a workspace, for a command that may start runs.
import { findUnusedRoutes } from '../../config/model-setting.ts';
import { assertAgentAccepted } from '../../config/refused-agents.ts';
import type { ConfiguredAgents, Settings } from '../../config/settings.ts';

/** Agent files that are ignored, and settings without effect in the chosen one. Throws `invalid_config` if the chosen agent's file is invalid. */
export function agentNotices(found: ConfiguredAgents, chosen: string | undefined, settings: Pick<Settings, 'routes'>): string[] {
  if (chosen !== undefined) assertAgentAccepted(found, chosen);
  const agent = found.list.find(({ name }) => name === chosen);
  return [
    ...found.refused.map((refused) => `agent ${refused.name} is ignored: ${refused.problems.join('; ')}`),
    ...trustNotices(found),
    ...(agent ? leftOutNotices(found, agent) : []),
    ...findUnusedRoutes(settings, found),
    ...found.warnings.filter(({ source }) => source === agent?.source).map(({ source, message }) => `${source}: ${message}`),
  ];
}

/** One line for each agent, because files of other programs may have many such keys. Without `agent`, for all. */
export function leftOutNotices({ leftOut, list }: ConfiguredAgents, agent?: { source: string }): string[] {
  return list.flatMap(({ name, source }) => {
    const count = leftOut.filter((each) => each.source === source).length;
    if (count === 0 || (agent !== undefined && agent.source !== source)) return [];
    return [
      `${source}: ${count === 1 ? '1 setting has' : `${count} settings have`} no effect here; \`retinue agents explain ${name}\` says why`,
    ];
  });
}

function trustNotices({ trust }: ConfiguredAgents): string[] {
  return trust
    .filter(({ state }) => state !== 'trusted')
    .flatMap(({ path, state, gives }) => [
      ...(state === 'changed' ? [`not trusted: ${path} has changed since you trusted it; \`retinue trust\` shows what it asks for`] : []),
      ...gives.map(({ what, why }) => `not trusted: \`${what}\` in ${path} is ignored (${why})`),
    ]);
}
