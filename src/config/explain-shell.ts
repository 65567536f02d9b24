// What decides about a shell command besides rules: the sandbox, and the files it protects.
import type { Grant, Rule, Ruleset } from '../contract/grant.ts';
import type { Subject } from '../ports/subject.ts';
import { collectClosedPaths } from '../rules/path-rules.ts';
import { decideCall } from '../rules/policy.ts';
import { isAllClosedIn, isPathClosed } from '../text/closed-paths.ts';
import { createBash } from '../tools/bash.ts';
import { isProtected } from '../tools/files/paths.ts';
import type { ShellAccess } from './shell-access.ts';

/** Where rules about paths end without a sandbox; null if the user gave none or a sandbox enforces them. */
export function describePathLimit(rulesets: Grant['rulesets'], shell: ShellAccess): string | null {
  const isGiven = ({ owner }: Ruleset, { from = owner, action, tool }: Rule) =>
    action !== 'allow' && ['read', 'write', 'edit'].includes(tool) && !from.startsWith('built-in');
  const hasPathRule = rulesets.some((ruleset) => ruleset.rules.some((rule) => isGiven(ruleset, rule)));
  if (shell.sandbox !== null || !hasPathRule) return null;
  return 'without a sandbox, rules about paths only stop commands that name the path; a program can still read or write it unseen';
}

export interface ShellCall {
  subjects: Subject[];
  /** The command; null if none was given. */
  text: string | null;
  workspace: string;
  shell: ShellAccess;
}

export async function describeShell(grant: Grant, { subjects, text, workspace, shell }: ShellCall): Promise<string[]> {
  if (shell.sandbox === null) {
    const limit = describePathLimit(grant.rulesets, shell);
    return ['there is no sandbox: the command would run as you, with your files and the network', ...(limit === null ? [] : [limit])];
  }
  const closed = collectClosedPaths(grant.rulesets);
  const isAllowed = (name: string) => decideCall(grant.rulesets, { tool: name, subjects: [] }).action === 'allow';
  const canWrite = (grant.tools.includes('write') || grant.tools.includes('edit')) && !isAllClosedIn(closed.write, '.');
  const access = isAllClosedIn(closed.read, '.') ? 'hidden' : canWrite ? 'writable' : 'read-only';
  const git = isAllowed('git') ? '' : ', `.git` is read-only';
  const notes = [
    `it would run in the sandbox: the workspace is ${access}${git}, the network is ${isAllowed('network') ? 'open' : 'closed'}`,
  ];
  const written = subjects.flatMap((subject) => (typeof subject === 'object' && subject.tool === 'write' ? [subject.text] : []));
  for (const path of new Set(written)) if (isProtected(path)) notes.push(`\`${path}\` is protected, so writing it fails`);
  for (const path of await findNamedPaths(text, workspace))
    if (isPathClosed(closed.read, path)) notes.push(`\`${path}\` is hidden from commands by a rule`);
  return notes;
}

async function findNamedPaths(text: string | null, workspace: string): Promise<Set<string>> {
  if (text === null) return new Set();
  const bash = createBash({ sandbox: null });
  await bash.prepare?.();
  return new Set(
    bash
      .subjects({ command: text }, { workspace })
      .flatMap((subject) => (typeof subject === 'object' && subject.tool === 'read' ? [subject.text] : [])),
  );
}
