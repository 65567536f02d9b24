import { RetinueError } from '../contract/error.ts';
import type { AgentsFound } from './settings.ts';

/**
 * What whoever uses agents should know: files that are left out and, of the chosen one, what has no effect. Throws `invalid_config`
 * where the file of the chosen agent is refused.
 */
export function agentNotices(found: AgentsFound, chosen: string | undefined): string[] {
  if (chosen !== undefined) checkRefused(found, chosen);
  const agent = found.list.find(({ name }) => name === chosen);
  return [
    ...found.refused.map((refused) => `the agent ${refused.name} is left out: ${refused.problems.join('; ')}`),
    ...untrusted(found),
    ...found.warnings.filter(({ source }) => source === agent?.source).map(({ source, message }) => `${source}: ${message}`),
  ];
}

/** A name that only a refused file defines is not unknown: the file's problems are thrown as `invalid_config`. */
export function checkRefused({ list, refused }: AgentsFound, name: string): void {
  const problems = refused.filter((other) => other.name === name).flatMap((other) => other.problems);
  if (problems.length > 0 && !list.some((agent) => agent.name === name)) throw new RetinueError('invalid_config', problems.join('\n'));
}

function untrusted({ trust }: AgentsFound): string[] {
  return trust
    .filter(({ state }) => state !== 'trusted')
    .flatMap(({ path, state, gives }) => [
      ...(state === 'changed' ? [`not trusted: ${path} has changed since it was trusted; \`retinue trust\` shows what it asks for`] : []),
      ...gives.map(({ what, why }) => `not trusted: \`${what}\` of ${path} is left out (${why})`),
    ]);
}
