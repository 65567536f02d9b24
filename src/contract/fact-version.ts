// Which version of each fact type is written, and which can be read.
import type { Draft, FactType } from './fact.ts';

/** The newest version of each fact type that this program reads; 1 for types that are not listed. */
const newestVersions: { [T in FactType]?: number } = {
  'artifact.recorded': 2,
  'check.started': 2,
  'child.created': 2,
  'child.ended': 4,
  'context.compacted': 2,
  'flow.returned': 2,
  'model.asked': 4,
  'model.failed': 2,
  'run.created': 10,
  'run.ended': 4,
  'run.paused': 2,
  'run.resumed': 2,
  'run.started': 3,
  'step.started': 2,
  'tool.asked': 3,
  'tool.finished': 2,
};

export function newestFactVersion(type: FactType): number {
  return newestVersions[type] ?? 1;
}

/** The version to write: as low as the data allows, so that older programs can read as much as possible. */
export function factVersionOf({ type, data }: Draft): number {
  switch (type) {
    case 'run.created':
      if (data.flow?.models !== undefined) return 10;
      if (data.models !== undefined || data.effort !== undefined || data.brief.effort !== undefined) return 9;
      if (data.brief.params !== undefined || data.brief.fixture !== undefined || data.brief.checks?.some((check) => 'agent' in check))
        return 9;
      if (data.external !== undefined) return 8;
      if (data.kind === 'flow' || data.brief.checks !== undefined || data.brief.maxCheckRounds !== undefined) return 7;
      if (data.grant.budgets !== undefined || data.brief.budgets !== undefined) return 6;
      if (data.images !== undefined) return 5;
      if (data.isolation !== undefined || data.brief.repository !== undefined || data.brief.workspace !== undefined) return 4;
      if (data.trace !== undefined) return 3;
      return data.grant.limits.maxToolCalls !== undefined || data.grant.rulesets.some((ruleset) => ruleset.scope !== undefined) ? 2 : 1;
    case 'run.started':
      return data.memo !== undefined ? 3 : data.reader !== undefined ? 2 : 1;
    case 'child.created':
      return data.continues === undefined && data.check === undefined ? 1 : 2;
    case 'child.ended':
    case 'run.ended':
      // In version 3, the outcome of a run with checks did not have their results as artifacts.
      if (data.outcome.verified !== undefined) return 4;
      return data.outcome.notices === undefined ? 1 : 2;
    case 'check.started':
      return data.agent === undefined ? 1 : 2;
    case 'artifact.recorded':
      return data.change === undefined ? 1 : 2;
    case 'context.compacted':
      return data.model === undefined ? 1 : 2;
    case 'flow.returned':
      return data.notices === undefined ? 1 : 2;
    case 'model.asked':
      if (data.effort !== undefined || data.instead !== undefined) return 4;
      return data.purpose === 'compact' ? 3 : data.budget === undefined ? 1 : 2;
    case 'model.failed':
      return data.next === undefined ? 1 : 2;
    case 'run.paused':
      return data.budget === undefined && data.begun === undefined ? 1 : 2;
    case 'run.resumed':
      return data.takeover === undefined ? 1 : 2;
    case 'step.started':
      return data.brief === undefined ? 1 : 2;
    case 'tool.asked':
      return data.polls !== undefined ? 3 : data.original === undefined ? 1 : 2;
    case 'tool.finished':
      return data.memo === undefined ? 1 : 2;
    default:
      return 1;
  }
}
