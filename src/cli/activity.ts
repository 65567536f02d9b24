// Entries of a dialect's own activity log, for the facts that they belong to. The dialect is the one that the run was created under.
import type { Api } from '../api/api.ts';
import { isRetinueError } from '../contract/error.ts';
import type { Fact } from '../contract/fact.ts';
import type { Activity, DialectSetup } from '../ports/dialect.ts';
import { cleanLine } from './clean.ts';

type Mapper = NonNullable<DialectSetup['activity']>;

/** Facts must come from the first on. Null where a fact has no entry. */
export function createActivities(api: Pick<Api, 'show'>): (fact: Fact) => Promise<Activity | null> {
  const mappers = new Map<string, Mapper>();
  return async (fact) => {
    if (fact.type === 'run.created') {
      const mapper = await mapperOf(fact.data.dialect);
      if (mapper) mappers.set(fact.runId, mapper);
    }
    const mapper = mappers.get(fact.runId);
    if (!mapper) return null;
    if (fact.type !== 'child.created') return mapper(fact, null);
    const { brief, grant } = await api.show(fact.data.childId);
    return brief && grant && mapper(fact, { brief, maxTurns: grant.limits.maxTurns.value });
  };
}

/** A dialect that a program defined for itself is not known here. */
async function mapperOf(dialect: string): Promise<Mapper | undefined> {
  if (dialect === 'native') return undefined;
  const { makeDialect } = await import('../dialects/index.ts');
  try {
    return makeDialect(dialect).setup?.activity;
  } catch (error) {
    if (isRetinueError(error)) return undefined;
    throw error;
  }
}

export function activityText({ type, message, metadata }: Activity): string {
  return cleanLine([type, message, ...Object.entries(metadata).map(([key, value]) => `${key}=${value}`)].join(' · '));
}
