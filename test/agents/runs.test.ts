// The key `runs`: its forms, and that an untrusted workspace cannot start a program with it.
import { describe, expect, it } from 'vitest';
import { chooseAgents } from '../../src/agents/choose.ts';
import { parseRuns } from '../../src/agents/runs.ts';
import type { Agent } from '../../src/contract/agent.ts';
import type { Json } from '../../src/contract/json.ts';

describe('runs', () => {
  it.each<[Json, object]>([
    ['claude', { program: 'claude' }],
    [
      { program: 'codex', login: 'own' },
      { program: 'codex', login: 'own' },
    ],
    [{ acp: ['agent', '--acp'] }, { acp: ['agent', '--acp'] }],
  ])('accepts %j', (value, expected) => expect(parseRuns(value)).toEqual(expected));

  it.each<[Json, RegExp]>([
    ['cloude', /did you mean `claude`/],
    [{ acp: [] }, /must be a name/],
    [{ program: 'claude', login: 'theirs' }, /must be a name/],
    [7, /must be a name/],
  ])('refuses %j with a sentence', (value, message) => expect(() => parseRuns(value)).toThrow(message));

  it.each([true, false])('counts in a workspace only if it is trusted (%s)', (trusted) => {
    const agent: Agent = { name: 'mine', description: '', prompt: 'x', source: 'file', runs: { acp: ['evil'] } };
    const { agents, widenings } = chooseAgents({ builtIn: [], user: [], workspace: [agent], limits: {}, isTrusted: () => trusted });
    expect(agents[0]?.runs).toEqual(trusted ? agent.runs : undefined);
    expect(widenings[0]?.gives).toMatchObject([{ what: 'runs = evil' }]);
  });
});
