import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Rule, Ruleset } from '../../src/contract/grant.ts';
import type { Subject } from '../../src/ports/subject.ts';
import { createToolRuleset, decideCall, filterOfferedTools, formatRule, parseRule, ruleMatches } from '../../src/rules/policy.ts';

// Few letters, so that rules match calls often.
const toolName = fc.constantFrom('read', 'write', 'bash', 'mcp__a', 'mcp__b');
const ruleTool = fc.constantFrom('read', 'write', 'bash', 'mcp__a', 'mcp__*', '*');
const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '/'), maxLength: 4 });
const plainPattern = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '*', '?'), minLength: 1, maxLength: 4 });
const pattern = fc.oneof({ weight: 5, arbitrary: plainPattern }, { weight: 1, arbitrary: plainPattern.map((each) => `unsafe:${each}`) });
const action = fc.constantFrom('allow' as const, 'allow' as const, 'ask' as const, 'deny' as const);
const rule: fc.Arbitrary<Rule> = fc.record({ action, tool: ruleTool, pattern: fc.option(pattern, { freq: 2 }) });
const ruleset = (kind: Ruleset['kind']): fc.Arbitrary<Ruleset> =>
  fc.record({ kind: fc.constant(kind), owner: fc.constantFrom('x', 'y'), rules: fc.array(rule, { maxLength: 4 }) });
const toolList = fc
  .tuple(fc.option(fc.array(toolName, { maxLength: 3 }), { nil: undefined }), fc.array(toolName, { maxLength: 2 }))
  .map(([allow, deny]) => createToolRuleset('list', allow, deny))
  .filter((made) => made !== null);
const narrowing = fc.oneof({ weight: 3, arbitrary: ruleset('narrowing') }, { weight: 1, arbitrary: toolList });
const call = fc.record({ tool: toolName, subjects: fc.array(text, { maxLength: 2 }) });
const marked: fc.Arbitrary<Subject> = fc.oneof(
  text,
  text.map((each) => ({ text: each, unsafe: 'a flag' })),
  fc.record({ text, alias: fc.constant(true as const), tool: toolName }),
  text.map((each) => ({ text: each, alias: true as const })),
);
/** Calls as tools describe them, with unsafe subjects and aliases. */
const anyCall = fc.record({ tool: toolName, subjects: fc.array(marked, { maxLength: 3 }) });
/** Half of the owners begin with `allow *`, because purely random rules would deny nearly everything. */
const owner = fc.tuple(ruleset('owner'), fc.boolean()).map(([made, open]): Ruleset => {
  return open ? { ...made, rules: [{ action: 'allow', tool: '*', pattern: null }, ...made.rules] } : made;
});
const owners = fc.array(owner, { minLength: 1, maxLength: 2 });
/** A root's rulesets, then those that each of up to four generations adds. */
const lineage = fc.tuple(owners, fc.array(fc.array(narrowing, { maxLength: 2 }), { minLength: 1, maxLength: 4 }));

const strictness = { allow: 0, ask: 1, deny: 2 };
const rank = (rulesets: Ruleset[], one: { tool: string; subjects: Subject[] }) => strictness[decideCall(rulesets, one).action];

describe('rights', () => {
  test('R2: in 100,000 random lineages a child may never do what an ancestor may not', { timeout: 60_000 }, () => {
    let narrowed = 0;
    const last = [0, 0, 0];
    fc.assert(
      fc.property(lineage, anyCall, ([root, generations], one) => {
        let rulesets = root;
        let above = rank(rulesets, one);
        for (const added of generations) {
          rulesets = [...rulesets, ...added];
          const here = rank(rulesets, one);
          if (here < above) throw new Error('a child may more than its ancestor');
          if (here > above) narrowed++;
          above = here;
        }
        last[above]!++;
      }),
      { seed: 20_266, numRuns: 100_000 },
    );
    // The lineages are meaningful: each answer is the result of many, and many were narrowed.
    for (const count of last) expect(count).toBeGreaterThan(5_000);
    expect(narrowed).toBeGreaterThan(10_000);
  });

  test('R2: one more deny anywhere never allows anything', () => {
    fc.assert(
      fc.property(
        owners,
        fc.array(narrowing, { maxLength: 3 }),
        rule,
        fc.nat(),
        fc.nat(),
        anyCall,
        (root, others, extra, which, place, one) => {
          const rulesets = [...root, ...others];
          const index = which % rulesets.length;
          const { rules } = rulesets[index]!;
          const changed = rules.toSpliced(place % (rules.length + 1), 0, { ...extra, action: 'deny' });
          const stricter = rulesets.with(index, { ...rulesets[index]!, rules: changed });
          expect(rank(stricter, one)).toBeGreaterThanOrEqual(rank(rulesets, one));
        },
      ),
      { seed: 20_267, numRuns: 10_000 },
    );
  });

  test('R4: marking a subject as unsafe, or adding an alias, never allows anything', () => {
    let stricter = 0;
    fc.assert(
      fc.property(owners, fc.array(narrowing, { maxLength: 3 }), call, marked, fc.boolean(), (root, others, one, added, mark) => {
        const rulesets = [...root, ...others];
        // Rules with the unsafe prefix match nothing else.
        fc.pre(!mark || !rulesets.some(({ rules }) => rules.some((each) => each.pattern?.startsWith('unsafe:'))));
        const before = rank(rulesets, one);
        const [first = 'a', ...rest] = one.subjects;
        const subjects: Subject[] = mark ? [{ text: first, unsafe: 'a flag' }, ...rest] : [...one.subjects, added];
        const after = rank(rulesets, { ...one, subjects });
        // A call without subjects is different: rules with patterns do not match it.
        if (one.subjects.length === 0) return;
        if (after > before) stricter++;
        expect(after).toBeGreaterThanOrEqual(before);
      }),
      { seed: 20_273, numRuns: 20_000 },
    );
    expect(stricter).toBeGreaterThan(100);
  });

  test('no ordinary pattern allows an unsafe subject', () => {
    fc.assert(
      fc.property(plainPattern, text, (each, subject) => {
        fc.pre(each !== '*');
        const rules: Rule[] = [
          { action: 'ask', tool: 'bash', pattern: null },
          { action: 'allow', tool: 'bash', pattern: each },
        ];
        const one = { tool: 'bash', subjects: [{ text: subject, unsafe: 'a flag' }] };
        expect(decideCall([{ kind: 'owner', owner: 'x', rules }], one).action).toBe('ask');
      }),
      { seed: 20_274, numRuns: 5_000 },
    );
  });

  test('R1, R3, R4 and R7: the same answer as a naive evaluation', () => {
    /** A rule that takes away also matches what is in a folder. */
    const matches = (candidate: Rule, tool: string, subject: string | null) => {
      const isPath = (tool === 'read' || tool === 'write' || tool === 'edit') && candidate.action !== 'allow' && subject !== null;
      const names = isPath ? subject.split('/') : [];
      const above = names.slice(0, -1).map((_, n) => names.slice(0, n + 1).join('/'));
      return [subject, ...above.filter((folder) => folder !== '')].some((each) => ruleMatches(candidate, tool, each));
    };
    const plain = (rulesets: Ruleset[], one: { tool: string; subjects: string[] }) => {
      const answers = rulesets.flatMap(({ kind, rules }) =>
        (one.subjects.length === 0 ? [null] : one.subjects).flatMap((subject) => {
          const own = rules.findLastIndex((candidate) => matches(candidate, one.tool, subject));
          const closing = (one.tool === 'write' ? ['edit', 'read'] : []).flatMap((effect) => {
            const counted = (candidate: Rule) => candidate.action === 'allow' || candidate.pattern !== null;
            const at = rules.findLastIndex((candidate) => counted(candidate) && matches(candidate, effect, subject));
            return at > own && rules[at]?.action !== 'allow' ? [rules[at]!.action] : [];
          });
          return [...closing, ...(own === -1 ? (kind === 'owner' ? ['deny' as const] : []) : [rules[own]!.action])];
        }),
      );
      return answers.includes('deny') ? 'deny' : answers.includes('ask') ? 'ask' : 'allow';
    };
    fc.assert(
      fc.property(owners, fc.array(narrowing, { maxLength: 3 }), call, (root, others, one) => {
        const rulesets = [...others, ...root];
        const decision = decideCall(rulesets, one);
        expect(decision.action).toBe(plain(rulesets, one));
        // The named rule exists, has that action and matches the call.
        if (decision.rule === null) return;
        const named = rulesets.filter((candidate) => candidate.owner === decision.owner).flatMap((candidate) => candidate.rules);
        const rule = named.find((candidate) => formatRule(candidate) === decision.rule)!;
        expect(rule.action).toBe(decision.action);
        const tools = one.tool === 'write' ? ['write', 'edit', 'read'] : [one.tool];
        expect(tools.some((tool) => [null, ...one.subjects].some((subject) => matches(rule, tool, subject)))).toBe(true);
      }),
      { seed: 20_268, numRuns: 10_000 },
    );
  });

  test('R5: a tool that is not offered is denied whatever its subjects', () => {
    let hidden = 0;
    fc.assert(
      fc.property(fc.array(ruleset('owner'), { maxLength: 2 }), fc.array(narrowing, { maxLength: 3 }), call, (root, others, one) => {
        const rulesets = [...root, ...others];
        if (filterOfferedTools(rulesets, [one.tool]).length > 0) return;
        hidden++;
        expect(decideCall(rulesets, one).action).toBe('deny');
      }),
      { seed: 20_269, numRuns: 10_000 },
    );
    expect(hidden).toBeGreaterThan(1_000);
  });

  test('a formatted rule parses back to the same rule', () => {
    fc.assert(
      fc.property(rule, (one) => {
        const trimmed = one.pattern?.trim() ?? null;
        fc.pre(trimmed !== '');
        expect(parseRule(formatRule({ ...one, pattern: trimmed }))).toEqual({ ...one, pattern: trimmed });
      }),
      { seed: 20_270, numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (anything) => {
        try {
          const parsed = parseRule(anything);
          expect(parseRule(formatRule(parsed))).toEqual(parsed);
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_rule' });
        }
      }),
      { seed: 20_271, numRuns: 2_000 },
    );
  });
});

describe('matching', () => {
  const bash = (text: string): Rule => ({ action: 'allow', tool: 'bash', pattern: text });

  test('gives the same result as a naive matcher', () => {
    const naive = (p: string, t: string): boolean => {
      if (p === '') return t === '';
      if (p[0] === '*') return naive(p.slice(1), t) || (t !== '' && naive(p, t.slice(1)));
      return t !== '' && (p[0] === '?' || p[0] === t[0]) && naive(p.slice(1), t.slice(1));
    };
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 8 });
    const wild = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '*', '?'), maxLength: 7 });
    fc.assert(
      fc.property(wild, letters, (p, t) => {
        const expected = naive(p, t) || (p.endsWith(' *') && naive(p.slice(0, -2), t));
        expect(ruleMatches(bash(p), 'bash', t)).toBe(expected);
      }),
      { seed: 20_272, numRuns: 20_000 },
    );
  });

  test('R9: adversarial patterns take at most pattern times text steps', () => {
    // A string that counts how often it is read.
    const counting = (text: string) => {
      const count = { looks: 0 };
      const proxy = new Proxy(Object(text) as object, {
        get(target, key) {
          if (typeof key === 'string' && /^\d+$/.test(key)) count.looks++;
          const value = Reflect.get(target, key);
          return typeof value === 'function' ? value.bind(text) : value;
        },
      });
      return { count, text: proxy as unknown as string };
    };
    const cost = (pattern: string, length: number) => {
      const { count, text } = counting('a'.repeat(length));
      expect(ruleMatches(bash(pattern), 'bash', text)).toBe(false);
      return count.looks;
    };
    for (const length of [1_000, 10_000, 40_000]) {
      expect(cost(`${'*a'.repeat(400)}*b`, length)).toBeLessThan(3 * length);
      expect(cost(`${'*'.repeat(900)}b`, length)).toBeLessThan(3 * length);
      expect(cost(`${'*?'.repeat(400)}b`, length)).toBeLessThan(3 * length);
    }
    expect(cost(`*${'a'.repeat(900)}b`, 10_000)).toBeLessThan(901 * 10_000);
  });
});
