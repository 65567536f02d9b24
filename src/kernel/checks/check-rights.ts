// Whether the command of an acceptance check may run. It is judged as a `bash` call of the author of the brief: before the run is created, and again before
// each execution, because rules may have been added since.
import type { Check } from '../../contract/check.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Ruleset } from '../../contract/grant.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { decideCall } from '../../rules/policy.ts';
import { narrowingRulesets } from '../admission/admitted-tools.ts';
import type { Run } from '../run.ts';
import { collectChildRulesets, collectRulesets } from '../run-rights.ts';
import { readSubjects } from '../tool-calls/call-rights.ts';

export interface CheckRights {
  /** Undefined without a shell. */
  tool: AnyTool | undefined;
  rulesets: Ruleset[];
  workspace: string;
}

/** Why a command may not run. `isByRule`: another rule would allow it. */
export interface CheckProblem {
  reason: string;
  isByRule: boolean;
}

/** Null if the command may run. A check cannot ask for approval. */
export async function findCheckProblem(command: string, { tool, rulesets, workspace }: CheckRights): Promise<CheckProblem | null> {
  if (!tool) return { reason: 'whoever wrote the brief has no shell', isByRule: false };
  await tool.prepare?.().catch(() => {});
  const read = readSubjects(tool, { command }, { workspace });
  if (!('subjects' in read)) return { reason: 'denied' in read ? read.denied : read.problem, isByRule: false };
  const { action, rule, owner } = decideCall(rulesets, { tool: 'bash', subjects: read.subjects });
  if (action === 'allow') return null;
  const by = rule === null ? 'no rule allows it' : `rule \`${rule}\` of ${owner}`;
  const reason = action === 'ask' ? `it would need approval, which a check cannot ask for (${by})` : `bash is not allowed for it (${by})`;
  return { reason, isByRule: true };
}

/** Throws `invalid_brief` for the first command that may not run. */
export async function assertChecksAllowed(checks: Check[], rights: CheckRights): Promise<void> {
  for (const check of checks) {
    if (!('command' in check)) continue;
    const problem = await findCheckProblem(check.command, rights);
    if (problem === null) continue;
    const advice = problem.isByRule ? `; allow it with a rule such as \`allow bash:${check.command}\`, or remove the check` : '';
    throw new RetinueError('invalid_brief', `checks: the command \`${check.command}\` cannot be run: ${problem.reason}${advice}`);
  }
}

/** The rights of the author of a brief: for a child of `parent`, or for a root with the rulesets `own`. */
export function findAuthorRights(parent: Run | null, own: Ruleset[]): Pick<CheckRights, 'rulesets'> & { hasShell: boolean } {
  if (!parent) return { rulesets: own, hasShell: true };
  if (!parent.work) return { rulesets: collectChildRulesets(parent), hasShell: true };
  return { rulesets: collectRulesets(parent), hasShell: parent.grant.tools.includes('bash') };
}

/** The same for a run that has been admitted. A root has its rules without those of its agent and its brief. */
export function findCheckRights(run: Run): CheckRights {
  const { parent, work, brief, dialect, grant, state, workspace } = run;
  const kept = grant.rulesets.length - (work ? narrowingRulesets(brief, work.agent, dialect).length : 0);
  const own = [...grant.rulesets.filter(({ kind }, index) => kind === 'owner' || index < kept), ...state.rights.narrowed];
  const { rulesets, hasShell } = findAuthorRights(parent, own);
  return { tool: hasShell ? work?.tools.get('bash') : undefined, rulesets, workspace };
}
