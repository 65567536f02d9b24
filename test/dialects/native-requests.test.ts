import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dialectNames, makeDialect } from '../../src/dialects/index.ts';
import { getNativeTool, id, makeRequest, mcpContext, modelContext } from './table-support.ts';

test('dialects are found by name', () => {
  expect(dialectNames[0]).toBe('native');
  expect(() => makeDialect('nativ')).toThrow(/available: native/);
  expect(makeDialect('native').tools.map(({ name }) => name)).toEqual([
    'delegate',
    'delegate_wait',
    'delegate_message',
    'delegate_read',
    'delegate_cancel',
    'delegate_apply',
  ]);
});

describe('requests', () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } } };
  test.each([
    { name: 'delegate', input: { tasks: [{ task: ' look ' }] }, wanted: { kind: 'delegate', briefs: [{ task: 'look' }], waitMs: null } },
    {
      name: 'delegate',
      context: mcpContext,
      input: { tasks: [{ task: 'x' }] },
      wanted: { kind: 'delegate', briefs: [{ task: 'x' }], waitMs: 45_000 },
    },
    {
      name: 'delegate',
      input: { tasks: [{ task: 'x' }], wait_seconds: 1.5 },
      wanted: { kind: 'delegate', briefs: [{ task: 'x' }], waitMs: 1500 },
    },
    {
      name: 'delegate',
      input: { tasks: [{ task: 'x' }], wait_seconds: 0 },
      wanted: { kind: 'delegate', briefs: [{ task: 'x', background: true }], waitMs: 0 },
    },
    {
      name: 'delegate',
      input: { tasks: [{ task: 'a' }, { task: 'b' }], budget_usd: 1 },
      wanted: { kind: 'delegate', briefs: ['a', 'b'].map((name) => ({ task: name, limits: { maxCostUsd: 0.5 } })), waitMs: null },
    },
    {
      name: 'delegate',
      input: {
        tasks: [
          {
            task: 'x',
            context: 'c',
            files: ['f'],
            agent: 'explore',
            model: 'm/n',
            tools: { allow: [], deny: ['bash'] },
            schema,
            label: 'l',
          },
        ],
      },
      wanted: {
        kind: 'delegate',
        briefs: [
          {
            task: 'x',
            context: 'c',
            files: ['f'],
            agent: 'explore',
            model: 'm/n',
            tools: { allow: [], deny: ['bash'] },
            result: { schema },
            label: 'l',
          },
        ],
        waitMs: null,
      },
    },
    {
      name: 'delegate',
      input: { tasks: [{ task: 'x' }, { task: '  ' }] },
      wanted: { kind: 'refuse', message: 'tasks[1].task: must not be empty' },
    },
    {
      name: 'delegate',
      input: { tasks: [{ task: 'x'.repeat(70_000) }] },
      wanted: { kind: 'refuse', message: 'tasks[0].task: must be at most 65536 bytes; give long material as a file or as context' },
    },
    { name: 'delegate_wait', input: {}, wanted: { kind: 'wait', ids: null, mode: 'all', waitMs: null } },
    { name: 'delegate_wait', input: { ids: [] }, wanted: { kind: 'wait', ids: null, mode: 'all', waitMs: null } },
    { name: 'delegate_wait', context: mcpContext, input: {}, wanted: { kind: 'wait', ids: null, mode: 'all', waitMs: 45_000 } },
    { name: 'delegate_wait', input: { ids: [id], mode: 'any', seconds: 0 }, wanted: { kind: 'wait', ids: [id], mode: 'any', waitMs: 0 } },
    { name: 'delegate_message', input: { id, text: 't' }, wanted: { kind: 'message', id, text: 't' } },
    { name: 'delegate_read', input: { id, part: 'log' }, wanted: { kind: 'read', id, part: 'log', offset: 0, limit: 5_000 } },
    {
      name: 'delegate_read',
      input: { id, part: 'summary', offset: 5, limit: 7 },
      wanted: { kind: 'read', id, part: 'summary', offset: 5, limit: 7 },
    },
    { name: 'delegate_cancel', input: { ids: [id] }, wanted: { kind: 'cancel', ids: [id], reason: null } },
    { name: 'delegate_cancel', input: { ids: [id], reason: 'r' }, wanted: { kind: 'cancel', ids: [id], reason: 'r' } },
    { name: 'delegate_apply', input: { ids: [id] }, wanted: { kind: 'apply', ids: [id], check: false } },
    { name: 'delegate_apply', input: { ids: [id], check: true }, wanted: { kind: 'apply', ids: [id], check: true } },
  ])('$name $input', ({ name, input, context, wanted }) => {
    expect(makeRequest(name, input, context ?? modelContext)).toEqual(wanted);
  });
});

test.each([
  { name: 'delegate', input: {} },
  { name: 'delegate', input: { tasks: [] } },
  { name: 'delegate', input: { tasks: Array.from({ length: 17 }, () => ({ task: 'x' })) } },
  { name: 'delegate', input: { tasks: [{ task: '' }] } },
  { name: 'delegate', input: { tasks: [{ task: 'x', prompt: 'y' }] } },
  { name: 'delegate', input: { tasks: [{ task: 'x', schema: [] }] } },
  { name: 'delegate', input: { tasks: [{ task: 'x' }], wait_seconds: -1 } },
  { name: 'delegate', input: { tasks: [{ task: 'x' }], wait_seconds: 2 ** 31 } },
  { name: 'delegate', input: { tasks: [{ task: 'x' }], wait_seconds: Number.POSITIVE_INFINITY } },
  { name: 'delegate', input: { tasks: [{ task: 'x' }], budget_usd: 0 } },
  { name: 'delegate_wait', input: { seconds: '5m' } },
  { name: 'delegate_wait', input: { mode: 'some' } },
  { name: 'delegate_message', input: { id } },
  { name: 'delegate_read', input: { id, part: 'everything' } },
  { name: 'delegate_cancel', input: { ids: [] } },
])('$name refuses $input', ({ name, input }) => {
  expect(getNativeTool(name).input.safeParse(input).success).toBe(false);
});

test('the description of delegate lists the agents, one per line', () => {
  expect(getNativeTool('delegate').description(modelContext)).toMatch(/\n\nAgents:\n- explore: Looks around\.$/);
});

test.each(dialectNames.flatMap((name) => makeDialect(name).tools))(
  '$name has a JSON Schema in which every property has a description',
  ({ input }) => {
    const schema = z.toJSONSchema(input, { io: 'input' }) as {
      additionalProperties: unknown;
      properties: Record<string, { description?: string }>;
    };
    expect(schema.additionalProperties).toBe(false);
    for (const [name, property] of Object.entries(schema.properties)) expect(property.description, name).toBeTruthy();
  },
);
