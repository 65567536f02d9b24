/**
 * What rules match against: a path, a command, an address. A call needs every subject allowed.
 *
 * `unsafe`: why patterns cannot judge the subject, such as a flag that starts other programs. Only a rule without a pattern, with the pattern `*`,
 * or with an explicit prefix (`allow bash:unsafe:git -c *`) allows it. Rules that deny or ask match it like any other.
 *
 * `alias`: another name for the effect of the call. Only rules that deny or ask match it, so it never allows anything. With `tool`, it is a subject
 * of another tool: `write` for a file that a command writes, and rules of that tool without a pattern match too; `read` for a file that a command
 * names, where only rules with a pattern match. With `tree`, the call also moves or removes everything below the path.
 * With `possible`, the command may write the file or not, and only rules with a pattern match.
 *
 * `known`: the text is certain only up to here, because the rest is known when the command runs. A rule that denies or asks, and that could match
 * some continuation, asks.
 */
export type Subject = string | { text: string; unsafe?: string; alias?: true; tool?: string; tree?: true; possible?: true; known?: string };

export const unsafePrefix = 'unsafe:';
