/**
 * What rules match against: a path, a command, an address. A call needs every subject allowed.
 *
 * `unsafe` says why patterns cannot be trusted with it (a flag that starts other programs, a file that is written): it is allowed only by a
 * rule without a pattern, by `*`, or by one that says so (`allow bash:unsafe:git -c *`). Rules that deny or ask match it as it stands.
 * `alias`: another name for what the call does. Only rules that deny or ask look at it, so it can never allow anything. With `tool` it is
 * a name under another tool (`write` for a file that a command writes), and rules without a pattern count as well.
 */
export type Subject = string | { text: string; unsafe?: string; alias?: true; tool?: string };

export const unsafePrefix = 'unsafe:';
