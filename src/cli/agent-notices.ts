import { assertAgentUsable } from '../config/agents.ts';
import type { ConfiguredAgents } from '../config/settings.ts';

/**
 * What whoever uses agents should know: files that are left out and, of the chosen one, what has no effect. Throws `invalid_config`
 * where the file of the chosen agent is refused.
 */
export function agentNotices(found: ConfiguredAgents, chosen: string | undefined): string[] {
  if (chosen !== undefined) assertAgentUsable(found, chosen);
  const agent = found.list.find(({ name }) => name === chosen);
  return [
    ...found.refused.map((refused) => `the agent ${refused.name} is left out: ${refused.problems.join('; ')}`),
    ...untrusted(found),
    ...found.warnings.filter(({ source }) => source === agent?.source).map(({ source, message }) => `${source}: ${message}`),
  ];
}

function untrusted({ trust }: ConfiguredAgents): string[] {
  return trust
    .filter(({ state }) => state !== 'trusted')
    .flatMap(({ path, state, gives }) => [
      ...(state === 'changed' ? [`not trusted: ${path} has changed since it was trusted; \`retinue trust\` shows what it asks for`] : []),
      ...gives.map(({ what, why }) => `not trusted: \`${what}\` of ${path} is left out (${why})`),
    ]);
}
