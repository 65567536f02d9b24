/** Whether a position of the event stream comes after another one. Positions are decimal numbers without leading zeros. */
export function isAfter(position: string, other: string): boolean {
  return position.length === other.length ? position > other : position.length > other.length;
}
