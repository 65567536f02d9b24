import { crashPoints } from '../../src/ports/crash.ts';
import type { Tortured } from './torture.ts';

export function printTortured({ databases, kills, at, unknown, ms, failed }: Tortured): string {
  const random = at.get('at random') ?? 0;
  const points = [...at.keys()].filter((name) => name !== 'at random').length;
  const lines = [
    `${kills} kills (${random} at random moments, ${kills - random} at ${points} of ${crashPoints.length} points) of ${databases} trees in ${Math.round(ms / 1000)} s`,
    `${failed.length} trees with a lost outcome, a repeated effect or a gap; ${unknown} calls that were cut off were told as unknown`,
  ];
  const missed = crashPoints.filter((name) => !at.has(name));
  if (missed.length > 0 && kills >= 500) lines.push(`points without a kill: ${missed.join(', ')}`);
  for (const { seed, faults } of failed.slice(0, 10))
    lines.push(
      `  npm run torture -- --kills 1 --jobs 1 --seed ${seed}`,
      ...faults.slice(0, 6).map((fault) => `    ${fault.slice(0, 800)}`),
    );
  return `${lines.join('\n')}\n`;
}
