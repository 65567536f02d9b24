// docs/tools.md agrees with what the tools declare.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { builtInTools } from '../../src/tools/index.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/tools.md'), 'utf8');
const tools = builtInTools({ ...createMemoryNotes(), clock: systemClock, bash: { sandbox: null } });

test.each(tools.map((tool) => [tool.name, tool] as const))('%s', (name, tool) => {
  const schema = z.toJSONSchema(tool.input, { io: 'input' }) as { properties: object; required?: string[] };
  const parameters = Object.keys(schema.properties).map((key) => `\`${key}${schema.required?.includes(key) ? '' : '?'}\``);
  const time = tool.timeoutMs === undefined ? '`toolTimeoutMs`' : `${Number(tool.timeoutMs) / 1000} s`;
  const row = [
    `[\`${name}\`](#${name})`,
    parameters.join(', '),
    tool.readOnly ? 'no' : 'yes',
    tool.idempotent ? 'yes' : 'no',
    time,
    `${tool.maxOutputBytes?.toLocaleString('en')} bytes`,
  ];
  expect(page).toContain(`| ${row.join(' | ')} |`);
  expect(page).toMatch(new RegExp(`^##+ ${name}$`, 'm'));
});
