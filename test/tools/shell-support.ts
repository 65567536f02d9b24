import { isRetinueError } from '../../src/contract/error.ts';
import type { RuleAction, Ruleset } from '../../src/contract/grant.ts';
import { createToolRuleset, decideCall, parseRule } from '../../src/rules/policy.ts';
import { type ShellOptions, shellSubjects } from '../../src/tools/shell/analysis/shell-subjects.ts';

export function ownerRules(...rules: string[]): Ruleset[] {
  return [{ kind: 'owner', owner: 'test', rules: rules.map(parseRule) }];
}

export function narrowedTo(...tools: string[]): Ruleset {
  return createToolRuleset('agent', tools, []) as Ruleset;
}

/** Decides like the kernel: a command that cannot be analysed is denied whatever the rules. */
export function decideCommand(rules: Ruleset[], command: string, workspace = '/nowhere/workspace', options: ShellOptions = {}): RuleAction {
  try {
    return decideCall(rules, { tool: 'bash', subjects: shellSubjects(command, workspace, options) }).action;
  } catch (error) {
    if (isRetinueError(error) && error.code === 'denied') return 'deny';
    throw error;
  }
}
