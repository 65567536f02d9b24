// The pages name what the program has: every command with its flags, every key of configuration and agent files.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentKeys } from '../../src/agents/keys.ts';
import { jsonFlag, serverFlags, writingFlags } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { keysAt } from '../../src/config/schema.ts';
import { defaultLimits } from '../../src/contract/limits.ts';

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
const common = [...writingFlags, ...serverFlags, jsonFlag].map((flag) => flag.name);

describe('docs/command-line.md', () => {
  const text = page('command-line.md');
  it.each(commands.map((command) => [command.name, command] as const))('has %s with its flags', (name, command) => {
    const section = text.split(/^## /m).find((part) => part.startsWith(`${name}\n`));
    expect(section).toBeDefined();
    const own = command.flags.filter((flag) => !common.includes(flag.name));
    expect(own.filter((flag) => !section?.includes(`--${flag.name}`)).map((flag) => flag.name)).toEqual([]);
  });

  it('has the flags that all have', () => {
    expect(common.filter((name) => !text.includes(`--${name}`))).toEqual([]);
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
