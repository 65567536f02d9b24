// What prompts need to know about a run, and who may read what enters them.
import type { Ruleset } from '../../contract/grant.ts';
import { completeLimits } from '../../contract/limits.ts';
import type { PromptRun } from '../../conversation/prompt-builder.ts';
import { decideCall } from '../../rules/policy.ts';
import type { ModelWork, Run } from '../run.ts';
import { collectChildRulesets, collectRulesets } from '../run-rights.ts';
import type { Services } from '../services.ts';

/**
 * The run as its prompts need it. What enters them is a read by the run that delegates (for a root, by the owner), and the run's own rules about files
 * apply as well.
 */
export function createPromptRun(run: Run, { settings }: Services): PromptRun {
  const { work, parent, depth, grant, dialect } = run;
  const given = parent ? collectChildRulesets(parent) : settings.rulesets(dialect.delegationTools);
  return {
    agent: (work as ModelWork).agent,
    depth,
    workspace: run.workspace,
    project: grant.workspace,
    tools: grant.tools,
    hasNetwork: decideCall(collectRulesets(run), { tool: 'network', subjects: [] }).action === 'allow',
    maxToolCalls: completeLimits(grant.limits).maxToolCalls.value as number,
    judge(tool, subjects) {
      const { action, rule, owner } = decideCall([...given, ...findRulesAbout(tool, run)], { tool, subjects });
      if (action === 'allow') return null;
      const by = rule === null ? 'no rule allows it' : `rule \`${rule}\` of ${owner}`;
      return action === 'deny' ? `denied: ${by}` : `denied: it needs approval, and a brief cannot ask for approval (${by})`;
    },
  };
}

/** The run's own rules about a tool. Its lists of tools do not count: a run without `read` may still be given files. */
function findRulesAbout(tool: string, { grant, state }: Run): Ruleset[] {
  return [...grant.rulesets, ...state.rights.narrowed].flatMap((ruleset) => {
    if (ruleset.kind === 'owner' || ruleset.scope === 'children') return [];
    return [{ ...ruleset, rules: ruleset.rules.filter((rule) => rule.tool === tool || rule.pattern !== null) }];
  });
}
