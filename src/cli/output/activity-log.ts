// Some dialects define an activity log. This maps the facts of a run to entries in the log of the dialect that the run was created with.
import type { Api } from '../../api/api.ts';
import { isRetinueError } from '../../contract/error.ts';
import type { Fact } from '../../contract/fact.ts';
import type { Activity, DialectSetup } from '../../ports/dialect.ts';
import { sanitizeLine } from '../../text/terminal.ts';

type ActivityMapper = NonNullable<DialectSetup['activity']>;

/** Call it with every fact from the first. Null if a fact has no entry. */
export function createActivityLog(api: Pick<Api, 'show'>): (fact: Fact) => Promise<Activity | null> {
  const mappers = new Map<string, ActivityMapper>();
  return async (fact) => {
    if (fact.type === 'run.created') {
      const mapper = await findMapper(fact.data.dialect);
      if (mapper) mappers.set(fact.runId, mapper);
    }
    const mapper = mappers.get(fact.runId);
    if (!mapper) return null;
    if (fact.type !== 'child.created') return mapper(fact, null);
    const { brief, grant } = await api.show(fact.data.childId);
    return brief && grant && mapper(fact, { brief, maxTurns: grant.limits.maxTurns.value });
  };
}

/** Undefined for dialects that a program using the library has defined: the command line does not know them. */
async function findMapper(dialect: string): Promise<ActivityMapper | undefined> {
  if (dialect === 'native') return undefined;
  const { makeDialect } = await import('../../dialects/index.ts');
  try {
    return makeDialect(dialect).setup?.activity;
  } catch (error) {
    if (isRetinueError(error)) return undefined;
    throw error;
  }
}

export function describeActivity({ type, message, metadata }: Activity): string {
  return sanitizeLine([type, message, ...Object.entries(metadata).map(([key, value]) => `${key}=${value}`)].join(' · '));
}
