// The pages name what the program has: every command with its flags, every key of configuration and agent files.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentKeys } from '../../src/agents/keys.ts';
import { jsonFlag, serverFlags, writingFlags } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { keysAt } from '../../src/config/schema.ts';
import { defaultLimits } from '../../src/contract/limits.ts';

const folder = join(import.meta.dirname, '../../docs');
const page = (name: string) => readFileSync(join(folder, name), 'utf8');
const common = [...writingFlags, ...serverFlags, jsonFlag].map((flag) => flag.name);

describe('the pages of the command line', () => {
  const overview = page('command-line.md');
  const pages = readdirSync(folder).filter((name) => name.startsWith('cli-'));
  const sections = pages.flatMap((name) =>
    page(name)
      .split(/^## /m)
      .map((text) => ({ name, text })),
  );

  it.each(commands.map((command) => [command.name, command] as const))('have %s with its flags, and a link to it', (name, command) => {
    const found = sections.filter(({ text }) => text.startsWith(`${name}\n`));
    expect(found).toHaveLength(1);
    expect(overview).toContain(`[${name}](${found[0]?.name}#${name})`);
    const own = command.flags.filter((flag) => !common.includes(flag.name));
    expect(own.filter((flag) => !found[0]?.text.includes(`--${flag.name}`)).map((flag) => flag.name)).toEqual([]);
  });

  it('have the flags that all commands take', () => {
    expect(common.filter((name) => !overview.includes(`--${name}`))).toEqual([]);
  });
});

it('docs/configuration.md has every key, and the limits with their defaults', () => {
  const text = page('configuration.md');
  expect(keysAt([]).filter((key) => !text.includes(`| \`${key}\` |`))).toEqual([]);
  expect(Object.entries(defaultLimits).filter(([name, value]) => !text.includes(`| \`${name}\` | ${value} |`))).toEqual([]);
  const dialects = keysAt(['dialects']).flatMap((dialect) => keysAt(['dialects', dialect]));
  expect(dialects.filter((key) => !text.includes(`\`${key}\``))).toEqual([]);
});

it('docs/agents.md has every key', () => {
  const text = page('agents.md');
  expect(agentKeys.filter((key) => !text.includes(`| \`${key}\` |`))).toEqual([]);
});
