// Which values of the environment are secret. Not secret are values that every command sees, and values so short or so common that removing them would
// damage ordinary text: fewer than 8 characters, up to 9 digits, one repeated character, and the words of `commonValues`.
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Env } from './user-folders.ts';

export interface SecretValue {
  name: string;
  value: string;
}

export interface KnownSecrets {
  /** Variables that hold a secret although their names do not say so. */
  names: string[];
  /** Values written in a file. */
  values: string[];
  /** Tokens that the HTTP server of this process accepts. */
  tokens: string[];
  /** The password in the address of the database. */
  databasePasswords: string[];
}

export const secretName =
  /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|COOKIE|WEBHOOK(?:_URL)?|[_-](?:PAT|DSN|PW|PWD|PASS|BEARER|SID|SESSION|SESSION_?ID|CONNECTION_STRING|CONN_STR))$|^(?:PASS|PWD_|BEARER|SESSION)|(?:API|ACCESS|PRIVATE|SECRET)_?KEY|SECRET|TOKEN|PASSWORD|PASSPHRASE/i;
/** Set by desktops and terminals; they name a session and open nothing. */
const desktopName = /^(?:XDG_|DBUS_|GNOME_|KDE_|WAYLAND_|TERM_|ITERM_|TMUX|DESKTOP_SESSION|SESSION_MANAGER|SESSIONNAME|PWD$|OLDPWD$)/i;
/** Visible to every command anyway; redacting them would break the paths in results. */
const publicName = /^(PATH|HOME|LANG|TERM|TMPDIR|USER|LOGNAME|SHELL|PWD)$/;
/** The password in `scheme://name:password@host`, in any variable. */
const passwordInAddress = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;
/** The password in `Server=…;Password=…` and `host=… password=…`. */
const passwordInList = /(?:^|[;\s])(?:password|pwd|accountkey|sharedaccesskey|sharedaccesssignature)\s*=\s*("[^"]+"|'[^']+'|[^;\s]+)/gi;
/** Addresses that let anybody who knows them post. */
const webhook =
  /^https:\/\/(?:hooks\.slack\.com\/|discord(?:app)?\.com\/api\/webhooks\/|[\w.-]+\.webhook\.office\.com\/|outlook\.office\.com\/webhook\/|chat\.googleapis\.com\/v1\/spaces\/|hooks\.zapier\.com\/|maker\.ifttt\.com\/)\S+$/i;

const minLength = 8;
const minLineLength = 12;
const commonValues = new Set(
  `administrator anonymous anything changeit changeme changethis database default-password defaultpassword development disabled dummykey example
  examplekey fake-key fakekey firebird foobarbaz guest-password insecure localhost localstack minioadmin mongodb mysecretpassword no-token none-set
  not-a-secret not-needed not-set nothing ollama-key password password1 password123 placeholder postgres postgresql production qwertyuiop rabbitmq
  required root-password rootpassword sandbox-key secret123 secretkey secretpassword somepassword something sqlserver staging-key supersecret
  superuser test-key test-secret test-token testing123 testkey123 testpass testpassword testtoken undefined unsupported unused-key username
  your-api-key your_api_key yourapikey your-token your-secret xxxxxxxx`.split(/\s+/),
);

/** Every secret value, longest first, so that a secret that contains another is replaced as a whole. */
export function findSecretValues(env: Env, known: Partial<KnownSecrets>): SecretValue[] {
  const { names = [], values = [], tokens = [], databasePasswords = [] } = known;
  const isNamed = (name: string, value: string) =>
    (secretName.test(name) && !desktopName.test(name)) || webhook.test(value) || (names.includes(name) && !isPublic(name, value));
  const found = Object.entries(env).flatMap(([name, value = '']): SecretValue[] => {
    const parts = [passwordInAddress.exec(value)?.[1] ?? '', ...[...value.matchAll(passwordInList)].map(([, part = '']) => unquote(part))];
    return [...(isNamed(name, value) ? [value] : []), ...parts].map((part) => ({ name, value: part }));
  });
  const all = [
    ...found,
    ...values.map((value) => ({ name: 'of an MCP server', value })),
    ...tokens.map((value) => ({ name: 'of retinue serve', value })),
    ...databasePasswords.map((value) => ({ name: 'of the database', value })),
  ];
  return all
    .flatMap(splitLines)
    .filter(({ value }) => !isCommon(value))
    .sort((a, b) => b.value.length - a.value.length);
}

/** Tools put line numbers and file names before the lines of a value, so each line is also a value. */
function splitLines({ name, value }: SecretValue): SecretValue[] {
  const lines = value.split(/\r?\n/).filter((line) => line.trim().length >= minLineLength);
  return lines.length < 2 ? [{ name, value }] : [{ name, value }, ...lines.map((line) => ({ name, value: line.trim() }))];
}

function isCommon(value: string): boolean {
  return value.length < minLength || /^\d{1,9}$/.test(value) || /^(.)\1*$/s.test(value) || commonValues.has(value.toLowerCase());
}

function unquote(text: string): string {
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text;
}

/** The path of an existing file or folder is not a secret. */
function isPublic(name: string, value: string): boolean {
  return publicName.test(name) || (isAbsolute(value) && existsSync(value));
}
