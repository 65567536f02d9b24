import { crashPoints, queueCrashPoints } from '../../src/ports/crash.ts';
import type { TorturedCluster } from './cluster.ts';
import type { Tortured } from './torture.ts';

export function printTortured({ databases, kills, at, unknown, ms, failed }: Tortured): string {
  const reached = crashPoints.filter((name) => !queueCrashPoints.includes(name));
  const random = at.get('at random') ?? 0;
  const points = [...at.keys()].filter((name) => name !== 'at random').length;
  const lines = [
    `${kills} kills (${random} at random moments, ${kills - random} at ${points} of ${reached.length} points) of ${databases} trees in ${Math.round(ms / 1000)} s`,
    `${failed.length} trees with a lost outcome, a repeated effect or a gap; ${unknown} calls that were cut off were told as unknown`,
  ];
  const missed = reached.filter((name) => !at.has(name));
  if (missed.length > 0 && kills >= 500) lines.push(`points without a kill: ${missed.join(', ')}`);
  for (const { seed, faults } of failed.slice(0, 10))
    lines.push(
      `  npm run torture -- --kills 1 --jobs 1 --seed ${seed}`,
      ...faults.slice(0, 6).map((fault) => `    ${fault.slice(0, 800)}`),
    );
  return `${lines.join('\n')}\n`;
}

export function printTorturedCluster(result: TorturedCluster): string {
  const { trees, runs, facts, faults, points, takeovers, unknown, ms, failed } = result;
  const total = [...faults.values()].reduce((sum, count) => sum + count, 0);
  const kinds = [...faults].map(([name, count]) => `${count} ${name}`);
  const lines = [
    `${trees} trees (${runs} runs, ${facts} facts) on 3 workers with ${total} faults in ${Math.round(ms / 1000)} s: ${kinds.join(', ')}`,
    `${takeovers} takeovers, kills at ${points.size} crash points, ${unknown} calls that were cut off were told as unknown`,
    `${failed.length} times something was lost, repeated or stuck`,
    ...failed
      .toSorted((a, b) => a.length - b.length)
      .slice(0, 20)
      .map((fault) => `  ${fault.slice(0, 3_000)}`),
  ];
  return `${lines.join('\n')}\n`;
}
