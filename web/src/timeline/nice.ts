/** The smallest of 1, 2, 5, 10, 20, 50, … (or 0.5, 0.2, …) that is at least the value, which is positive. */
export function niceAtLeast(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  // Divisions such as 0.3 / 0.1 are slightly off.
  const share = value / power - 1e-9;
  return (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
}
