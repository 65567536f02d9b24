// What rules match against for a shell command. Commands are not parsed here: a pattern speaks of one simple command, so anything that is
// more than that is named as such, and only a rule without a pattern (`allow bash`) can allow it. Each part that can be told apart
// stands on its own as well, so that a `deny` finds it.

/** Whatever joins, nests, redirects, expands or quotes commands in ways that a pattern cannot see through. */
const special = /[;&|<>()`$\\{}\n\r!#~*?[\]'"]|^\s*\w+=/;
const joints = /[;&|()`\n\r{}]+|\$\(|<\(|>\(/;

/** Marks a command that no pattern may allow. */
export const compound = '(compound) ';

export function shellSubjects(command: string): string[] {
  const whole = command.trim();
  if (!special.test(whole)) return [whole.replace(/[ \t]+/g, ' ')];
  const parts = whole
    .split(joints)
    .map((part) => part.trim().replace(/[ \t]+/g, ' '))
    .filter((part) => part !== '');
  return [...new Set([`${compound}${whole}`, ...parts])];
}
