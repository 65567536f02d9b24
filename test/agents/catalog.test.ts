import { describe, expect, test } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { Agent } from '../../src/contract/agent.ts';

const made = (name: string, source: string): Agent => ({ name, description: 'd', prompt: 'p', source });

describe('the built-in agents', () => {
  test('are five, each with the tools it needs', () => {
    const tools = Object.fromEntries(
      createCatalog(builtInAgents)
        .list()
        .map((agent) => [agent.name, agent.tools?.join(' ')]),
    );
    expect(tools).toEqual({
      general: 'read write edit glob grep list bash skill mcp__*',
      explore: 'read glob grep list',
      plan: 'read glob grep list todo',
      research: 'webfetch websearch read',
      review: 'read glob grep list bash',
    });
  });

  test.each(builtInAgents)('$name has a one-line description and its own prompt', ({ description, prompt }) => {
    expect(description).toMatch(/^[^\n]{40,200}\.$/);
    expect(prompt.split('\n').length).toBeGreaterThanOrEqual(5);
    expect(prompt.split('\n').length).toBeLessThanOrEqual(15);
  });

  test.each(builtInAgents)('$name is valid; a catalog does not check that again', (agent) => {
    expect(Agent.parse(agent)).toEqual(agent);
  });
});

describe('createCatalog', () => {
  test('finds agents by name and keeps their order', () => {
    const catalog = createCatalog([made('b', 'x'), made('a', 'x'), made('team/a', 'x')]);
    expect(catalog.get('a')?.name).toBe('a');
    expect(catalog.get('c')).toBeNull();
    expect(catalog.get('toString')).toBeNull();
    expect(catalog.list().map((agent) => agent.name)).toEqual(['b', 'a', 'team/a']);
  });

  test('a duplicate name: the error names both sources', () => {
    expect(() => createCatalog([made('a', 'built-in'), made('a', '.retinue/agents/a.md')])).toThrow(
      expect.objectContaining({ code: 'invalid_config', message: 'the agent a is defined twice: in built-in and in .retinue/agents/a.md' }),
    );
  });

  test('a malformed definition: the error names its source', () => {
    expect(() => createCatalog([made('Bad Name', 'agents.md')])).toThrow(
      expect.objectContaining({ code: 'invalid_config', message: expect.stringContaining('Bad Name (agents.md)') }),
    );
  });
});
