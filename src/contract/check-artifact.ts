// Results of acceptance checks as artifacts of an outcome. Without schemas, because pages read them too.
import type { Artifact } from './artifact.ts';
import type { CheckStatus } from './check.ts';

export interface CheckResult {
  /** As `checkName` gives it. */
  name: string;
  status: CheckStatus;
  round: number;
  output: string;
}

const prefix = 'check: ';

export function createCheckArtifact({ name, status, round, output }: CheckResult): Artifact {
  const value = JSON.stringify({ status, round, output });
  return { kind: 'json', value, title: `${prefix}${name}`, bytes: new TextEncoder().encode(value).length };
}

export function isCheckArtifact({ kind, title }: Artifact): boolean {
  return kind === 'json' && title?.startsWith(prefix) === true;
}

/** The checks of the last round. Empty for a run without checks, and for outcomes that were recorded without them. */
export function readCheckResults({ verified, artifacts }: { verified?: boolean | null | undefined; artifacts: Artifact[] }): CheckResult[] {
  if (typeof verified !== 'boolean') return [];
  return artifacts.filter(isCheckArtifact).flatMap(({ title = '', value }) => {
    try {
      return [{ name: title.slice(prefix.length), ...(JSON.parse(value) as Omit<CheckResult, 'name'>) }];
    } catch {
      return []; // of another program
    }
  });
}
