// `network` and `git`: what a shell may reach, by the same rules as tools and never by accident.
import { describe, expect, it } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { builtInRuleset, capabilities, decide, parseRule, toolRuleset } from '../../src/parts/policy.ts';
import { sandboxOwner } from '../../src/ports/sandbox.ts';

const owner = (...rules: string[]): Ruleset => {
  const builtIn = builtInRuleset([], []);
  return { ...builtIn, rules: [...builtIn.rules, ...rules.map(parseRule)] };
};
const narrowing = (...rules: string[]): Ruleset => ({ kind: 'narrowing', owner: 'agent a', rules: rules.map(parseRule) });
const action = (rulesets: Ruleset[], tool: string) => decide(rulesets, { tool, subjects: [] }).action;

describe.each(capabilities)('%s', (name) => {
  it('is denied unless the owner allows it by its name', () => {
    expect(action([owner()], name)).toBe('deny');
    expect(action([owner('allow *')], name)).toBe('deny');
    expect(action([owner(`allow ${name.slice(0, 2)}*`)], name)).toBe('deny');
    expect(action([owner(`allow ${name}`)], name)).toBe('allow');
    expect(action([owner(`allow ${name}`, `deny ${name}`)], name)).toBe('deny');
  });

  it('is neither closed nor opened by a list of tools', () => {
    const list = toolRuleset('the brief', ['read', 'bash'], ['edit']) as Ruleset;
    expect(action([owner(`allow ${name}`), list], name)).toBe('allow');
    expect(action([owner(), list], name)).toBe('deny');
    expect(action([owner(), toolRuleset('the brief', ['bash', name], []) as Ruleset], name)).toBe('deny');
  });

  it('can be taken away by whoever narrows, and given by nobody else', () => {
    expect(action([owner(`allow ${name}`), narrowing(`deny ${name}`)], name)).toBe('deny');
    expect(action([owner(`allow ${name}`), toolRuleset('the brief', undefined, [name]) as Ruleset], name)).toBe('deny');
    expect(action([owner(), narrowing(`allow ${name}`)], name)).toBe('deny');
  });
});

it('a shell is allowed inside a sandbox, and asked about without one', () => {
  const boxed = builtInRuleset([], [], { sandboxed: true });
  expect(decide([boxed], { tool: 'bash', subjects: ['ls'] })).toMatchObject({ action: 'allow', owner: sandboxOwner });
  expect(action([boxed, narrowing('deny bash')], 'bash')).toBe('deny');
  expect(action([owner()], 'bash')).toBe('ask');
});
