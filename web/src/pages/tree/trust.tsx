// Whether the success of a run was checked, and by what.
import type { ReactNode } from 'react';
import type { CheckStatus } from '../../../../src/contract/check.ts';
import { readCheckResults } from '../../../../src/contract/check-artifact.ts';
import type { Outcome } from '../../../../src/contract/outcome.ts';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { trustWord } from '../../../../src/text/verified.ts';
import { Badge, type Tone } from '../../parts/status.tsx';

const badges: Record<NonNullable<ReturnType<typeof trustWord>>, { tone: Tone; title: string }> = {
  verified: { tone: 'ok', title: 'All its acceptance checks have passed' },
  'not verified': { tone: 'error', title: 'Not all its acceptance checks have passed' },
  claimed: { tone: 'neutral', title: 'It says that it is done; no check has confirmed it' },
};

const checkTones: Record<CheckStatus, Tone> = { passed: 'ok', failed: 'error', refused: 'warning', unknown: 'warning' };

export function TrustBadge({ outcome }: { outcome: Outcome }): ReactNode {
  return <TrustWord word={trustWord(outcome)} />;
}

export function TrustWord({ word }: { word: ReturnType<typeof trustWord> }): ReactNode {
  return word === null ? null : <Badge {...badges[word]}>{word}</Badge>;
}

/** The checks of the last round. */
export function CheckList({ outcome }: { outcome: Outcome }): ReactNode {
  const checks = readCheckResults(outcome);
  if (checks.length === 0) return null;
  return (
    <ul className="outcome-checks" aria-label="Checks">
      {checks.map(({ name, status }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list of an ended run does not change, and two checks can have the same name.
        <li key={index}>
          <Badge tone={checkTones[status] ?? 'warning'}>{status}</Badge> <code>{sanitizeLine(name)}</code>
        </li>
      ))}
    </ul>
  );
}
