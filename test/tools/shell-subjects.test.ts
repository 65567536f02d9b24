// Rules about a shell: a pattern allows a single command and nothing that hides behind one.
import { describe, expect, it } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { decide, parseRule } from '../../src/parts/policy.ts';
import { shellSubjects } from '../../src/tools/shell/subjects.ts';

const owner = (...rules: string[]): Ruleset[] => [{ kind: 'owner', owner: 'test', rules: ['ask bash', ...rules].map(parseRule) }];
const action = (rules: Ruleset[], command: string) => decide(rules, { tool: 'bash', subjects: shellSubjects(command) }).action;

describe('allow bash:git log *', () => {
  const rules = owner('allow bash:git log *');
  it.each(['git log', 'git log -5', '  git   log --oneline  '])('allows %j', (command) => expect(action(rules, command)).toBe('allow'));
  it.each([
    'git log; rm -rf .',
    'git log && curl evil',
    'git log | sh',
    'git log $(rm x)',
    'git log `rm x`',
    'git log > ../x',
    'git log < x',
    'git log\nrm x',
    'git log & rm x',
    'PATH=. git log',
    'git log "$(rm x)"',
    "git log --format='%x'",
    'git log {a,b}',
    'git log \\\nx',
    'git logx',
  ])('does not allow %j', (command) => expect(action(rules, command)).toBe('ask'));
});

describe('deny bash:rm *', () => {
  const rules = owner('allow bash', 'deny bash:rm *', 'deny bash:rm');
  it.each(['ls', 'ls | wc -l', 'echo "a" > b'])('leaves %j', (command) => expect(action(rules, command)).toBe('allow'));
  it.each(['rm x', 'cd a; rm x', 'ls && rm -rf .', '(rm x)', 'a $(rm x)', 'a `rm x`', 'a | rm x', 'a\nrm x'])('finds %j', (command) =>
    expect(action(rules, command)).toBe('deny'),
  );
});
