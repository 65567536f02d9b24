import type { Redact } from '../ports/secrets.ts';

const secretName = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;
const minLength = 8;

// Shapes that are hardly ever anything else than a credential.
const shapes = new RegExp(
  [
    'sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}',
    'gh[pousr]_[A-Za-z0-9]{30,}',
    'github_pat_[A-Za-z0-9_]{40,}',
    'AKIA[0-9A-Z]{16}',
    'AIza[0-9A-Za-z_-]{35}',
    'xox[abprs]-[A-Za-z0-9-]{10,}',
    '-----BEGIN [A-Z ]*PRIVATE KEY-----[\\s\\S]*?-----END [A-Z ]*PRIVATE KEY-----',
  ].join('|'),
  'g',
);

/** Knows the secrets of this process by value: variables whose names say that they hold one, and those that are `named` as such. */
export function createRedact(env: Record<string, string | undefined>, named: readonly string[] = []): Redact {
  const own = Object.entries(env)
    .filter(([name, value]) => (secretName.test(name) || named.includes(name)) && value !== undefined && value.length >= minLength)
    .map(([name, value]) => ({ name, value: value as string }))
    .sort((a, b) => b.value.length - a.value.length);
  return (text, alsoShapes) => {
    let clean = text;
    for (const { name, value } of own) if (clean.includes(value)) clean = clean.replaceAll(value, `[secret ${name}]`);
    return alsoShapes ? clean.replace(shapes, '[secret]') : clean;
  };
}
