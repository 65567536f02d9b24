// Notices about the agents of a workspace, for a command that may start runs.
import { RetinueError } from '../../contract/error.ts';
import type { AgentsFound } from '../settings.ts';

/** Agent files that are ignored, and settings without effect in the chosen one. Throws `invalid_config` if the chosen agent's file is invalid. */
export function agentNotices(found: AgentsFound, chosen: string | undefined): string[] {
  if (chosen !== undefined) assertAgentAccepted(found, chosen);
  const agent = found.list.find(({ name }) => name === chosen);
  return [
    ...found.refused.map((refused) => `agent ${refused.name} is ignored: ${refused.problems.join('; ')}`),
    ...trustNotices(found),
    ...found.warnings.filter(({ source }) => source === agent?.source).map(({ source, message }) => `${source}: ${message}`),
  ];
}

/** Throws the problems of the file as `invalid_config` if only an invalid file defines the name, instead of leaving it unknown. */
export function assertAgentAccepted({ list, refused }: AgentsFound, name: string): void {
  const problems = refused.filter((other) => other.name === name).flatMap((other) => other.problems);
  if (problems.length > 0 && !list.some((agent) => agent.name === name)) throw new RetinueError('invalid_config', problems.join('\n'));
}

function trustNotices({ trust }: AgentsFound): string[] {
  return trust
    .filter(({ state }) => state !== 'trusted')
    .flatMap(({ path, state, gives }) => [
      ...(state === 'changed' ? [`not trusted: ${path} has changed since you trusted it; \`retinue trust\` shows what it asks for`] : []),
      ...gives.map(({ what, why }) => `not trusted: \`${what}\` in ${path} is ignored (${why})`),
    ]);
}
