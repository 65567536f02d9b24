import { describe, expect, test } from 'vitest';
import { isRetinueError } from '../../src/contract/error.ts';
import type { Ruleset } from '../../src/contract/grant.ts';
import {
  builtInRuleset,
  createToolRuleset,
  decideCall,
  filterOfferedTools,
  formatRule,
  parseRule,
  ruleMatches,
} from '../../src/rules/policy.ts';
import { nearestName, unknownNameMessage } from '../../src/text/suggest.ts';

const set = (kind: Ruleset['kind'], owner: string, ...rules: string[]): Ruleset => ({ kind, owner, rules: rules.map(parseRule) });
const call = (tool: string, ...subjects: string[]) => ({ tool, subjects });

describe('parsing rules', () => {
  test.each([
    ['deny bash', { action: 'deny', tool: 'bash', pattern: null }],
    ['  allow   bash:git log *  ', { action: 'allow', tool: 'bash', pattern: 'git log *' }],
    ['ask webfetch:https://example.com:8080/*', { action: 'ask', tool: 'webfetch', pattern: 'https://example.com:8080/*' }],
    ['allow *', { action: 'allow', tool: '*', pattern: null }],
    ['deny mcp__*: secret ', { action: 'deny', tool: 'mcp__*', pattern: 'secret' }],
    ['allow\tread', { action: 'allow', tool: 'read', pattern: null }],
  ])('%s', (text, rule) => {
    expect(parseRule(text)).toEqual(rule);
    expect(parseRule(formatRule(parseRule(text)))).toEqual(rule);
  });

  test.each([
    ['alow bash', 'unknown action `alow`; did you mean `allow`?'],
    ['DENY bash', 'did you mean `deny`?'],
    ['', 'it is empty'],
    ['deny', 'it names no tool'],
    ['deny :x', 'it names no tool'],
    ['allow bash git log *', 'before it: `allow bash:git log *`'],
    ['allow bash\ndeny write', 'needs a colon before it'],
    ['allow b*sh', '`*` only at its end'],
    ['allow b?', '`*` only at its end'],
    ['allow **', '`*` only at its end'],
    ['deny bash:', 'nothing follows the colon'],
    [`deny bash:${'x'.repeat(1_001)}`, 'longer than 1000 characters'],
  ])('%j is refused with a reason', (text, reason) => {
    try {
      parseRule(text);
      expect.unreachable();
    } catch (error) {
      expect(isRetinueError(error) && error.code).toBe('invalid_rule');
      expect(String(error)).toContain(reason);
      expect(String(error)).toContain('write `allow|ask|deny tool[:pattern]`');
    }
  });
});

describe('matching', () => {
  test.each([
    ['allow bash', 'bash', 'rm -rf /', true],
    ['allow bash', 'bash', null, true],
    ['allow bash', 'bashful', null, false],
    ['allow *', 'anything', null, true],
    ['allow mcp__*', 'mcp__github', null, true],
    ['allow mcp__*', 'mcp', null, false],
    ['allow bash:*', 'bash', null, false],
    ['allow bash:*', 'bash', '', true],
    ['allow bash:git log *', 'bash', 'git log', true],
    ['allow bash:git log *', 'bash', 'git log --all', true],
    ['allow bash:git log *', 'bash', 'git logx', false],
    ['allow bash:git log*', 'bash', 'git logx', true],
    ['allow write:src/*', 'write', 'src/a/b.ts', true],
    ['allow write:src/?.ts', 'write', 'src/a.ts', true],
    ['allow write:src/?.ts', 'write', 'src/.ts', false],
    ['allow write:a.c', 'write', 'abc', false],
  ])('%s, %s %j: %s', (rule, tool, subject, expected) => {
    expect(ruleMatches(parseRule(rule), tool, subject)).toBe(expected);
  });
});

describe('deciding', () => {
  const owner = set('owner', 'built-in', 'allow read', 'ask bash', 'allow bash:git *', 'deny bash:git push *');

  test('R1: the last match wins in a ruleset, and the strictest ruleset wins', () => {
    expect(decideCall([owner], call('bash', 'ls'))).toEqual({ action: 'ask', rule: 'ask bash', owner: 'built-in' });
    expect(decideCall([owner], call('bash', 'git log'))).toEqual({ action: 'allow', rule: 'allow bash:git *', owner: 'built-in' });
    expect(decideCall([owner], call('bash', 'git push -f'))).toMatchObject({ action: 'deny', rule: 'deny bash:git push *' });
    const agent = set('narrowing', 'agent explore', 'deny bash', 'allow bash:git push *');
    expect(decideCall([owner, agent], call('bash', 'git log'))).toEqual({ action: 'deny', rule: 'deny bash', owner: 'agent explore' });
    expect(decideCall([owner, agent], call('bash', 'git push'))).toMatchObject({ action: 'deny', owner: 'built-in' });
    expect(decideCall([owner, agent], call('read', 'a'))).toMatchObject({ action: 'allow', rule: 'allow read' });
  });

  test('R1: of equally strict answers the first is named', () => {
    const first = set('narrowing', 'first', 'deny read');
    const second = set('narrowing', 'second', 'deny *');
    expect(decideCall([owner, first, second], call('read', 'a')).owner).toBe('first');
    expect(decideCall([second, owner, first], call('read', 'a')).owner).toBe('second');
    expect(decideCall([first, owner], call('write', 'a'))).toEqual({ action: 'deny', rule: null, owner: 'built-in' });
  });

  test('R3: every owner ruleset must allow; no match and no ruleset mean deny', () => {
    expect(decideCall([owner], call('write', 'a'))).toEqual({ action: 'deny', rule: null, owner: 'built-in' });
    expect(decideCall([], call('read', 'a'))).toEqual({ action: 'deny', rule: null, owner: 'built-in' });
    expect(decideCall([set('narrowing', 'agent', 'allow *')], call('read', 'a')).action).toBe('deny');
    expect(decideCall([owner, set('owner', 'host', 'allow write')], call('read', 'a')).action).toBe('deny');
    expect(decideCall([owner, set('owner', 'host', 'allow *')], call('read', 'a')).action).toBe('allow');
  });

  test('R4: all subjects count; a pattern does not match a call without subjects', () => {
    expect(decideCall([owner], call('bash', 'git log', 'git push', 'ls')).action).toBe('deny');
    expect(decideCall([owner], call('bash', 'git log', 'ls')).action).toBe('ask');
    expect(decideCall([owner], call('bash', 'git log', 'git diff')).action).toBe('allow');
    expect(decideCall([set('owner', 'o', 'allow read:*')], call('read')).action).toBe('deny');
  });

  test('the built-in rules allow reading, writing and delegating, ask for a shell, and deny the rest', () => {
    const rules = [builtInRuleset(['delegate'], ['searchDocs'])];
    const action = (tool: string) => decideCall(rules, call(tool, 'x')).action;
    for (const tool of [
      'read',
      'list',
      'glob',
      'grep',
      'todo',
      'memory',
      'scratchpad',
      'webfetch',
      'websearch',
      'write',
      'edit',
      'delegate',
      'searchDocs',
    ])
      expect(action(tool)).toBe('allow');
    expect([action('bash'), action('mcp__x__y'), action('other')]).toEqual(['ask', 'allow', 'deny']);
    expect(decideCall([builtInRuleset([], ['bash'])], call('bash', 'ls')).action).toBe('ask');
  });
});

describe('lists of tools', () => {
  const owner = set('owner', 'o', 'allow *');
  const offers = (allow: string[] | undefined, deny: string[] = []) =>
    filterOfferedTools([owner, ...[createToolRuleset('agent', allow, deny)].filter((one) => one !== null)], ['read', 'write', 'bash']);

  test('absent means all, empty means none, deny beats allow', () => {
    expect(createToolRuleset('agent', undefined, [])).toBeNull();
    expect(offers(undefined)).toEqual(['read', 'write', 'bash']);
    expect(offers([])).toEqual([]);
    expect(offers(undefined, ['bash'])).toEqual(['read', 'write']);
    expect(offers(['read', 'bash'], ['bash'])).toEqual(['read']);
    expect(createToolRuleset('agent', ['read'], ['bash'])?.rules.map(formatRule)).toEqual(['deny *', 'allow read', 'deny bash']);
  });

  test('R5: a tool with any allowed call is offered', () => {
    const tools = ['read', 'write', 'bash'];
    expect(filterOfferedTools([owner, set('narrowing', 'a', 'deny bash', 'allow bash:git *')], tools)).toEqual(tools);
    expect(filterOfferedTools([owner, set('narrowing', 'a', 'deny bash:rm *')], tools)).toEqual(tools);
    expect(filterOfferedTools([owner, set('narrowing', 'a', 'allow bash', 'deny *', 'deny read:x')], tools)).toEqual([]);
    expect(filterOfferedTools([set('owner', 'o', 'allow read', 'ask bash')], tools)).toEqual(['read', 'bash']);
    expect(filterOfferedTools([set('narrowing', 'a', 'allow *')], tools)).toEqual([]);
  });
});

describe('suggestions', () => {
  const agents = ['general', 'explore', 'plan', 'research', 'review'];

  test.each([
    ['explor', 'explore'],
    ['epxlore', 'explore'],
    ['Explore', 'explore'],
    ['re', 'review'],
    ['reserch', 'research'],
    ['plna', 'plan'],
    ['zzz', null],
    ['', null],
    ['x', null],
  ])('%j: %s', (word, expected) => {
    expect(nearestName(word, agents)).toBe(expected);
  });

  test('the message for an unknown name', () => {
    expect(unknownNameMessage('agent', 'explor', ['explore', 'plan'])).toBe(
      'unknown agent `explor`; did you mean `explore`? (available: explore, plan)',
    );
    expect(unknownNameMessage('tool', 'zzz', [])).toBe('unknown tool `zzz` (available: none)');
    const many = Array.from({ length: 15 }, (_, index) => `name${index}`);
    expect(unknownNameMessage('agent', 'other', many)).toContain('name11 and 3 more)');
    expect(unknownNameMessage('agent', 'x'.repeat(1e6), many).length).toBeLessThan(400);
  });
});
