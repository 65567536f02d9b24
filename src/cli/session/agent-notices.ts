// Notices about the agents of a workspace, for a command that may start runs.
import { assertAgentAccepted } from '../../config/refused-agents.ts';
import type { ConfiguredAgents } from '../../config/settings.ts';

/** Agent files that are ignored, and settings without effect in the chosen one. Throws `invalid_config` if the chosen agent's file is invalid. */
export function agentNotices(found: ConfiguredAgents, chosen: string | undefined): string[] {
  if (chosen !== undefined) assertAgentAccepted(found, chosen);
  const agent = found.list.find(({ name }) => name === chosen);
  return [
    ...found.refused.map((refused) => `agent ${refused.name} is ignored: ${refused.problems.join('; ')}`),
    ...trustNotices(found),
    ...found.warnings.filter(({ source }) => source === agent?.source).map(({ source, message }) => `${source}: ${message}`),
  ];
}

function trustNotices({ trust }: ConfiguredAgents): string[] {
  return trust
    .filter(({ state }) => state !== 'trusted')
    .flatMap(({ path, state, gives }) => [
      ...(state === 'changed' ? [`not trusted: ${path} has changed since you trusted it; \`retinue trust\` shows what it asks for`] : []),
      ...gives.map(({ what, why }) => `not trusted: \`${what}\` in ${path} is ignored (${why})`),
    ]);
}
