import { expect, test } from 'vitest';
import { z } from 'zod';
import { builtInToolNames } from '../../src/agents/tool-lists.ts';
import type { Skill } from '../../src/ports/skill.ts';
import { createMemoryNotes } from '../../src/stores/notes-memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { builtInTools, skillToolName, workspaceTools } from '../../src/tools/index.ts';

const all = builtInTools({ ...createMemoryNotes(), clock: systemClock, bash: { sandbox: null } });

test('lists the tools in order with their parameters', () => {
  const shapes = all.map((tool) => {
    const schema = z.toJSONSchema(tool.input, { io: 'input' }) as { properties: Record<string, object>; required?: string[] };
    return `${tool.name} {${Object.keys(schema.properties)
      .map((key) => (schema.required?.includes(key) ? key : `${key}?`))
      .join(', ')}}`;
  });
  expect(shapes).toEqual([
    'read {path, offset?, limit?}',
    'write {path, content}',
    'edit {path, old, new, all?}',
    'list {path}',
    'glob {pattern, path?}',
    'grep {pattern, path?, glob?}',
    'bash {command, timeout?}',
    'webfetch {url}',
    'websearch {query}',
    'todo {items}',
    'memory {action, title?, text?}',
    'scratchpad {action, text?}',
  ]);
  expect([...all.map(({ name }) => name), skillToolName].sort()).toEqual([...builtInToolNames].sort());
  expect(workspaceTools.map(({ name }) => name)).toEqual(['read', 'write', 'edit', 'list', 'glob', 'grep']);
});

// `npx vitest run test/tools/index.test.ts -u` writes the file again. What models see is recorded and hashed, so order counts.
test('the stored JSON Schemas are those of the parameters', async () => {
  const skills = [{ name: 'x', description: 'x', folder: '/', source: 'x' } as unknown as Skill];
  const tools = builtInTools({ ...createMemoryNotes(), clock: systemClock, bash: { sandbox: null }, skills });
  const schemas = tools.map((tool) => {
    const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: 'input' });
    return [tool.name, schema];
  });
  await expect(`${JSON.stringify(Object.fromEntries(schemas), null, 2)}\n`).toMatchFileSnapshot('../../src/tools/input-schemas.json');
  for (const { name, inputSchema } of tools) expect(inputSchema).toEqual(Object.fromEntries(schemas)[name]);
});

test('declares for each tool whether it changes something and may be repeated', () => {
  const table = all.map(({ name, readOnly, idempotent }) => `${name} ${readOnly ? 'reads' : 'changes'} ${idempotent ? 'again' : 'once'}`);
  expect(table).toEqual([
    'read reads again',
    'write changes again',
    'edit changes once',
    'list reads again',
    'glob reads again',
    'grep reads again',
    'bash changes once',
    'webfetch reads again',
    'websearch reads again',
    'todo reads again',
    'memory changes again',
    'scratchpad changes once',
  ]);
  for (const tool of all) expect(tool.maxOutputBytes, tool.name).toBeGreaterThan(0);
  // A command is limited only by the time limit of the run for one call.
  expect(all.filter(({ timeoutMs }) => timeoutMs === undefined).map(({ name }) => name)).toEqual(['bash']);
});

test('every parameter has a description, and unknown parameters are refused', () => {
  for (const tool of all) {
    const schema = z.toJSONSchema(tool.input, { io: 'input' }) as {
      properties: Record<string, { description?: string }>;
      additionalProperties?: boolean;
    };
    expect(schema.additionalProperties, tool.name).toBe(false);
    for (const [name, property] of Object.entries(schema.properties)) expect(property.description, `${tool.name}.${name}`).toMatch(/\S/);
  }
});
