import { RetinueError } from '../contract/error.ts';
import type { ConfiguredAgents } from './settings.ts';

/** Throws the problems of the file as `invalid_config` if only an invalid file defines the name, instead of leaving it unknown. */
export function assertAgentAccepted({ list, refused }: ConfiguredAgents, name: string): void {
  const problems = refused.filter((other) => other.name === name).flatMap((other) => other.problems);
  if (problems.length > 0 && !list.some((agent) => agent.name === name)) throw new RetinueError('invalid_config', problems.join('\n'));
}
