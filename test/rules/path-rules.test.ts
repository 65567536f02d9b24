import { describe, expect, it } from 'vitest';
import { collectClosedPaths } from '../../src/rules/path-rules.ts';
import { parseRule } from '../../src/rules/policy.ts';

function closed(...rules: string[]) {
  const all = ['allow read', 'allow write', 'allow edit', 'allow bash', ...rules];
  return collectClosedPaths([{ kind: 'owner', owner: 'the user', rules: all.map(parseRule) }]);
}

describe('the paths that rules close to commands', () => {
  it.each([
    ['deny read:.env', { read: [[{ closed: true, pattern: '.env' }]], write: [] }],
    ['ask read:.env', { read: [[{ closed: true, pattern: '.env' }]], write: [] }],
    ['deny write', { read: [], write: [[{ closed: true, pattern: null }]] }],
    ['ask write', { read: [], write: [] }],
    ['ask read', { read: [], write: [] }],
    ['allow read:.env', { read: [], write: [] }],
  ])('%s', (rule, expected) => {
    expect(closed(rule)).toEqual(expected);
  });
});
