// Positions of facts in a store, which clients treat as opaque: numbers joined by dashes. The first number that differs decides.

export function isAfter(position: string, other: string): boolean {
  const [own, others] = [position.split('-'), other.split('-')];
  for (let index = 0; index < Math.max(own.length, others.length); index++) {
    const difference = Number(own[index] ?? 0) - Number(others[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
