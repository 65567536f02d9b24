// The part of a system prompt that says where the run is and what it can do there. It is pinned with the system prompt, so replay stays exact.
import type { WorkspaceInfo } from '../ports/workspace.ts';
import { msToIso } from '../text/instant.ts';

export interface PromptEnvironment {
  workspace: string;
  info: WorkspaceInfo;
  /** Milliseconds since 1970. */
  now: number;
  /** Tools offered to the run. */
  tools: readonly string[];
  /** Whether commands of the shell may use the network. */
  hasNetwork: boolean;
  maxToolCalls: number;
}

export function renderEnvironment({ workspace, info, now, tools, hasNetwork, maxToolCalls }: PromptEnvironment): string {
  const has = (...names: string[]) => names.some((name) => tools.includes(name));
  const facts = [
    `Workspace: ${workspace}`,
    `Platform: ${info.platform}`,
    `Date: ${msToIso(now).slice(0, 10)}`,
    `Git: ${describeGit(info.git)}`,
    `Shell commands: ${has('bash') ? 'yes' : 'no'}`,
    `Writing files: ${has('write', 'edit') ? 'yes' : has('bash') ? 'only with shell commands' : 'no'}`,
    `Network: ${describeNetwork(has('webfetch', 'websearch'), has('bash') && hasNetwork)}`,
  ];
  if (tools.length > 0) facts.push(`Tool calls in one answer: at most ${maxToolCalls}`);
  return `Environment:\n${facts.map((fact) => `- ${fact}`).join('\n')}`;
}

function describeGit(git: WorkspaceInfo['git']): string {
  if (git === null) return 'not a repository';
  const branch = git.branch === null ? 'no branch (detached HEAD)' : `branch ${git.branch}`;
  if (git.isDirty === null) return branch;
  return `${branch}, ${git.isDirty ? 'with uncommitted changes' : 'no uncommitted changes'}`;
}

function describeNetwork(hasTools: boolean, hasShell: boolean): string {
  if (hasTools) return hasShell ? 'yes' : 'through the web tools only';
  return hasShell ? 'through shell commands' : 'no';
}
