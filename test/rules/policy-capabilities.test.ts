// `network` and `git`: capabilities of a shell, granted by rules like tools but never by a wildcard.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { sandboxOwner } from '../../src/ports/sandbox.ts';
import { builtInRuleset, capabilities, createToolRuleset, decideCall, parseRule } from '../../src/rules/policy.ts';

const owner = (...rules: string[]): Ruleset => {
  const builtIn = builtInRuleset([], []);
  return { ...builtIn, rules: [...builtIn.rules, ...rules.map(parseRule)] };
};
const narrowing = (...rules: string[]): Ruleset => ({ kind: 'narrowing', owner: 'agent a', rules: rules.map(parseRule) });
const action = (rulesets: Ruleset[], tool: string) => decideCall(rulesets, { tool, subjects: [] }).action;

describe.each(capabilities)('%s', (name) => {
  it('is denied unless the owner allows it by name', () => {
    expect(action([owner()], name)).toBe('deny');
    expect(action([owner('allow *')], name)).toBe('deny');
    expect(action([owner(`allow ${name.slice(0, 2)}*`)], name)).toBe('deny');
    expect(action([owner(`allow ${name}`)], name)).toBe('allow');
    expect(action([owner(`allow ${name}`, `deny ${name}`)], name)).toBe('deny');
  });

  it('is neither removed nor granted by a list of tools', () => {
    const list = createToolRuleset('the brief', ['read', 'bash'], ['edit']) as Ruleset;
    expect(action([owner(`allow ${name}`), list], name)).toBe('allow');
    expect(action([owner(), list], name)).toBe('deny');
    expect(action([owner(), createToolRuleset('the brief', ['bash', name], []) as Ruleset], name)).toBe('deny');
  });

  it('can be removed by a narrowing ruleset, but granted only by the owner', () => {
    expect(action([owner(`allow ${name}`), narrowing(`deny ${name}`)], name)).toBe('deny');
    expect(action([owner(`allow ${name}`), createToolRuleset('the brief', undefined, [name]) as Ruleset], name)).toBe('deny');
    expect(action([owner(), narrowing(`allow ${name}`)], name)).toBe('deny');
  });
});

it('a shell is allowed inside a sandbox, and needs approval without one', () => {
  const boxed = builtInRuleset([], [], { sandboxed: true });
  expect(decideCall([boxed], { tool: 'bash', subjects: ['ls'] })).toMatchObject({ action: 'allow', owner: sandboxOwner });
  expect(action([boxed, narrowing('deny bash')], 'bash')).toBe('deny');
  expect(action([owner()], 'bash')).toBe('ask');
});

describe('a decision without the rules of the sandbox', () => {
  const text = fc.constantFrom('ls', 'ls a', 'rm a', 'git push');
  const rule = fc
    .record({ action: fc.constantFrom('allow', 'ask', 'deny'), on: fc.constantFrom('bash', 'bash:*', 'bash:ls *', 'bash:rm *', '*') })
    .map(({ action: word, on }) => ({ ...parseRule(`${word} ${on}`), from: 'the user' }));
  const rules = fc.array(rule, { maxLength: 3 });
  const others = fc.array(
    rules.map((each): Ruleset => ({ kind: 'narrowing', owner: 'other', rules: each })),
    { maxLength: 3 },
  );
  const boxed = builtInRuleset([], [], { sandboxed: true });

  it('denies a call exactly if the sandbox rule is what allows it, or if it is denied anyway', () => {
    const seen = { denied: 0, left: 0 };
    fc.assert(
      fc.property(rules, others, fc.array(text, { minLength: 1, maxLength: 3 }), fc.boolean(), (own, more, subjects, first) => {
        const user: Ruleset = { ...boxed, rules: [...boxed.rules, ...own] };
        const all = first ? [user, ...more] : [...more, user];
        const call = { tool: 'bash', subjects };
        const usual = decideCall(all, call);
        const answer = decideCall(all, call, { without: sandboxOwner });
        const lent = subjects.some((each) => decideCall([user], { tool: 'bash', subjects: [each] }).owner === sandboxOwner);
        if (lent) expect(answer.action).toBe('deny');
        else expect(answer).toEqual(usual);
        if (lent && usual.action !== 'deny') seen.denied++;
        if (!lent && usual.action !== 'deny') seen.left++;
      }),
      { seed: 7, numRuns: 5_000 },
    );
    expect(Math.min(seen.denied, seen.left)).toBeGreaterThan(300);
  });
});
