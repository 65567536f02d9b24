import { describe, expect, it } from 'vitest';
import { createRedact } from '../../src/config/redact.ts';
import { cpuMs } from '../support/cpu-time.ts';

const redact = createRedact({});
/** Written in two parts, so that no scanner takes this file for a leak. */
const made = (prefix: string, length: number, of = 'aB3dE5gH7jK9') => prefix + of.repeat(Math.ceil(length / of.length)).slice(0, length);
const hex = '0123456789abcdef';

describe('shapes of keys', () => {
  const table: [what: string, key: string][] = [
    ['Anthropic', made('sk-ant-' + 'api03-', 80)],
    ['OpenAI', made('sk-' + 'proj-', 60)],
    ['GitHub', made('ghp' + '_', 36)],
    ['GitHub, fine-grained', made('github' + '_pat_', 60)],
    ['GitLab', made('glpat' + '-', 20)],
    ['Amazon', made('AKIA', 16, 'ABCD2345')],
    ['Amazon, for a time', made('ASIA', 16, 'ABCD2345')],
    ['Google', made('AIza', 35)],
    ['Google OAuth', made('ya29' + '.', 60)],
    ['Google OAuth client', made('GOCSPX' + '-', 28)],
    ['Google OAuth refresh', made('1//0' + '4', 60)],
    ['Azure storage', `AccountKey=${made('', 86)}==`],
    ['Azure client secret', `abc8Q~${made('', 34)}`],
    ['DigitalOcean', made('dop' + '_v1_', 64, hex)],
    ['Slack', made('xoxb' + '-', 40, '1234567890')],
    ['Slack app', `xapp-1-${made('A', 10, 'ABC')}-123456-${made('', 64, hex)}`],
    ['Slack webhook', `hooks.slack.com/services/${made('T', 9)}/${made('B', 9)}/${made('', 24)}`],
    ['Telegram', `123456789:AA${made('', 33)}`],
    ['Discord', `${made('M', 24)}.abcDEF.${made('', 30)}`],
    ['Stripe', made('sk' + '_live_', 24)],
    ['Stripe webhook', made('whsec' + '_', 32)],
    ['Shopify', made('shpat' + '_', 32, hex)],
    ['SendGrid', `SG.${made('', 22)}.${made('', 43)}`],
    ['npm', made('npm' + '_', 36)],
    ['PyPI', made('pypi-' + 'AgEIcHlwaS5vcmc', 70)],
    ['Docker', made('dckr' + '_pat_', 27)],
    ['Hugging Face', made('hf' + '_', 34, 'aBcDeF')],
    ['Replicate', made('r8' + '_', 37)],
    ['Groq', made('gsk' + '_', 52)],
    ['xAI', made('xai' + '-', 80)],
    ['Vault', made('hvs' + '.', 40)],
    ['Databricks', made('dapi', 32, hex)],
    ['age', made('AGE-SECRET-' + 'KEY-1', 58, 'ABC234')],
    ['a JWT', `eyJ${made('', 30)}.eyJ${made('', 60)}.${made('', 43)}`],
    ['a private key', `-----BEGIN OPENSSH ${'PRIVATE KEY'}-----\n${made('', 64)}\n-----END OPENSSH ${'PRIVATE KEY'}-----`],
    ['a private key that breaks off', `-----BEGIN RSA ${'PRIVATE KEY'}-----\n     2\t${made('', 64)}\n     3\t${made('', 30)}`],
    ['a PGP key', `-----BEGIN PGP ${'PRIVATE KEY'} BLOCK-----\n\n${made('', 64)}\n-----END PGP ${'PRIVATE KEY'} BLOCK-----`],
  ];
  it.each(table)('%s', (_, key) => {
    expect(redact(`before ${key}`, true)).toBe('before [secret]');
    expect(redact(`token="${key}"`, true)).toBe('token="[secret]"');
    expect(redact(`before ${key}`, false), 'never in what a model wrote').toBe(`before ${key}`);
  });

  it('Amazon’s secret key, which has no fixed prefix, is recognised by its label', () => {
    for (const name of ['aws_secret_access_key = ', 'AWS_SECRET_ACCESS_KEY=', '"SecretAccessKey": "'])
      expect(redact(`${name}${made('', 40)}`, true)).toBe(`${name}[secret]`);
  });
});

it.each([
  'commit 3f786850e387550fdab836ed7e6dc881de23001b',
  'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
  '550e8400-e29b-41d4-a716-446655440000',
  'https://example.com/a/very/long/path/that/goes/on/and/on/1234567890',
  'task-management-system-with-a-long-name-2024-Edition',
  '.sk-spinner-container-wrapper-large { color: red }',
  'const npm_config_registry_url_of_somebody = process.env.npm_config_registry',
  'the word eyJ alone, and hf_hub_download, gh_pages_branch_of_the_project, dapimethods',
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4',
  '-----BEGIN CERTIFICATE-----\nMIIBszCCARygAwIBAgIE\n-----END CERTIFICATE-----',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx me@host',
])('%s is not a secret', (text) => expect(redact(text, true)).toBe(text));

describe('a private key that is read in slices', () => {
  const line = made('', 64, 'aB3dE5gH7jK9+/Lm');
  it.each([
    ['plain', `${line}\n${line}\n`, '[secret]\n'],
    ['with line numbers', `     5\t${line}\n     6\t${line}`, '[secret]'],
    ['an OpenSSH key', `${made('', 70)}\n${made('', 70)}\n${made('', 33)}`, `[secret]\n${made('', 33)}`],
    [
      'a certificate with its first line stays',
      `-----BEGIN CERTIFICATE-----\n${line}\n${line}`,
      `-----BEGIN CERTIFICATE-----\n${line}\n${line}`,
    ],
    ['a list of hashes stays', `${made('', 64, hex)}\n${made('', 64, hex)}`, `${made('', 64, hex)}\n${made('', 64, hex)}`],
  ])('%s', (_, text, clean) => expect(redact(text, true)).toBe(clean));
});

describe('secrets of the process', () => {
  const env = {
    OPENAI_API_KEY: 'plain-value-1',
    MY_TOKEN_FOR_CI: 'plain-value-2',
    SECRET_KEY_BASE: 'plain-value-3',
    DB_PASSWORD: 'plain-value-4',
    DATABASE_URL: 'postgres://me:plain-value-5@host/db',
    GH_PAT: 'plain-value-6',
    SENTRY_DSN: 'plain-value-7',
    SMTP_PASS: 'plain-value-8',
    MYSQL_PWD: 'plain-value-9',
    API_BEARER: 'plain-value-10',
    SESSION_ID: 'plain-value-11',
    AZURE_SQL: 'Server=db;User Id=me;Password=plain-value-12;Encrypt=true',
    PG_OPTIONS: "host=db user=me password='plain-value-13'",
    ALERTS: 'https://discord.com/api/webhooks/plain-value-14',
    PATH: '/usr/bin:/usr/local/bin',
    HOME: '/home/me/plain-value',
    SHORT_KEY: 'abc',
  };
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])('plain-value-%i is redacted in tool results and in model output', (n) => {
    const known = createRedact(env);
    for (const shapes of [true, false]) expect(known(`x plain-value-${n} y`, shapes)).toMatch(/^x \[secret [A-Z_]+\] y$/);
  });

  it('the address of a webhook is a secret as a whole', () => {
    expect(createRedact(env)('curl https://discord.com/api/webhooks/plain-value-14', false)).toBe('curl [secret ALERTS]');
  });

  it.each([
    ['JSON escapes', String.raw`{"a": "\u0071uote\"in\\side"}`, '{"a": "[secret A_KEY]"}'],
    ['escapes in capitals', String.raw`\x71uote\u0022in\u005Cside`, '[secret A_KEY]'],
    ['JSON inside JSON', String.raw`"{\"a\": \"quote\\\"in\\\\side\"}"`, String.raw`"{\"a\": \"[secret A_KEY]\"}"`],
    ['a shell', String.raw`echo 'quote"in\side'`, "echo '[secret A_KEY]'"],
  ])('%s do not hide a value', (_, text, clean) => {
    expect(createRedact({ A_KEY: String.raw`quote"in\side` })(text, false)).toBe(clean);
  });

  it.each(['postgres', 'changeme', 'localhost', '123456789', 'xxxxxxxxxx', 'short77'])(
    '%s is too common to be treated as a secret',
    (value) => {
      expect(createRedact({ DB_PASSWORD: value })(`image: ${value}:16`, true)).toBe(`image: ${value}:16`);
    },
  );

  it.each(['XDG_SESSION_ID', 'DBUS_SESSION_BUS_ADDRESS', 'DESKTOP_SESSION', 'SESSION_MANAGER', 'OLDPWD'])('%s is no secret', (name) => {
    expect(createRedact({ [name]: 'local/some-where:@/tmp' })('local/some-where:@/tmp', true)).toBe('local/some-where:@/tmp');
  });

  it('what a cut leaves of a value is removed on both sides', () => {
    const known = createRedact({ A_KEY: 'abcdefghijklmnop' });
    expect(known('head abcdefgh\n[… 10 of 99 bytes left out …]\nijklmnop tail', true)).toBe(
      'head [secret A_KEY]\n[… 10 of 99 bytes left out …]\n[secret A_KEY] tail',
    );
    expect(known('line abcdefghij … [line cut: 3000 bytes]', true)).toBe('line [secret A_KEY] … [line cut: 3000 bytes]');
    expect(known('an … ellipsis', true)).toBe('an … ellipsis');
  });

  it('the lines of a value are removed one by one, as tools show them', () => {
    const known = createRedact({ TLS_KEY: 'first-line-of-it\nsecond-line-of-it\n' });
    expect(known('     1\tfirst-line-of-it\n     2\tsecond-line-of-it', true)).toBe('     1\t[secret TLS_KEY]\n     2\t[secret TLS_KEY]');
  });

  it('values that every command sees are kept', () => {
    expect(createRedact(env)('/usr/bin:/usr/local/bin /home/me/plain-value abc postgres', true)).toBe(
      '/usr/bin:/usr/local/bin /home/me/plain-value abc postgres',
    );
  });
});

it('takes linear time', () => {
  for (const piece of [
    'eyJaaaaaaaaaaaaa.',
    'sk-',
    'a',
    '1234567890:AA',
    `-----BEGIN ${'PRIVATE KEY'}-----\n`,
    'M'.repeat(30),
    'AAA8Q~',
    '…',
    '\\\\u0041',
    `${made('', 64)}\n`,
    '{"a": "b"}\n',
  ]) {
    const text = piece.repeat(Math.ceil(4_000_000 / piece.length));
    expect(
      cpuMs(() => createRedact({ A_KEY: 'abcdefghijklmnop' })(text, true)),
      piece,
    ).toBeLessThan(3000);
  }
});
