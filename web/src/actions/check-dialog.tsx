// Verify and replay, with their verdicts.
import type { ReactNode } from 'react';
import type { Client } from '../../../src/client/client.ts';
import { formatPlural, shortId } from '../../../src/views/format.ts';
import { useClient } from '../data/context.tsx';
import { useResource } from '../data/use-resource.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorState, Loading } from '../parts/states.tsx';
import { CodeBlock } from '../parts/text.tsx';
import { Link } from '../router.tsx';
import { type ActionTarget, nameTarget } from './target.ts';

interface CheckDialogProps {
  target: ActionTarget;
  onClose(): void;
}

export function VerifyDialog({ target, onClose }: CheckDialogProps): ReactNode {
  const client = useClient();
  const { data, error, isLoading, reload } = useResource(() => client.verify(target.id), [client, target.id]);
  return (
    <CheckFrame title="Verify the log" isLoading={isLoading} error={error} reload={reload} onClose={onClose}>
      <p className="muted">Checks that every record of the tree of {nameTarget(target)} is there and unchanged, by their hashes.</p>
      {data !== undefined && <VerifyVerdict result={data} />}
    </CheckFrame>
  );
}

function VerifyVerdict({ result }: { result: Awaited<ReturnType<Client['verify']>> }): ReactNode {
  const { runs, facts, erased, broken, faults } = result;
  const size = `${formatPlural(facts, 'record')} of ${formatPlural(runs, 'run')}`;
  if (broken.length === 0 && faults.length === 0)
    return (
      <Verdict isGood title="The log is complete and unchanged">
        {size}
        {erased > 0 && `; the content of ${erased} was erased, so only their numbers and hashes were checked`}
      </Verdict>
    );
  return (
    <>
      <Verdict isGood={false} title="The log was changed or is incomplete">
        {size}. Do not rely on what the runs below say.
      </Verdict>
      <ul className="verdict-list">
        {broken.map((fault, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change.
          <li key={i}>
            <Link to={`/runs/${fault.runId}`}>{shortId(fault.runId)}</Link>
            <CodeBlock text={JSON.stringify(fault, null, 2)} label={`Fault of run ${shortId(fault.runId)}`} />
          </li>
        ))}
        {faults.map(({ where, what }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change.
          <li key={i}>
            {where}: {what}
          </li>
        ))}
      </ul>
    </>
  );
}

export function ReplayDialog({ target, onClose }: CheckDialogProps): ReactNode {
  const client = useClient();
  const { data, error, isLoading, reload } = useResource(() => client.replay(target.id), [client, target.id]);
  const different = data?.filter(({ difference }) => difference !== null) ?? [];
  const total = (key: 'facts' | 'requests') => data?.reduce((sum, each) => sum + each[key], 0) ?? 0;
  return (
    <CheckFrame title="Replay the decisions" isLoading={isLoading} error={error} reload={reload} onClose={onClose}>
      <p className="muted">
        Repeats every decision of {nameTarget(target)} and the runs below it from the recorded answers, and compares. No model and no tool
        is called.
      </p>
      {data !== undefined && different.length === 0 && (
        <Verdict isGood title="The replay is identical">
          {formatPlural(data.length, 'run')}, {formatPlural(total('facts'), 'record')}, {formatPlural(total('requests'), 'model request')}{' '}
          with the same hash as recorded
        </Verdict>
      )}
      {different.length > 0 && (
        <>
          <Verdict isGood={false} title="The replay differs">
            {formatPlural(different.length, 'run')} of {data?.length}. The first difference of each:
          </Verdict>
          <ul className="verdict-list">
            {different.map(({ runId, difference }) => (
              <li key={runId}>
                <p>
                  <Link to={`/runs/${runId}?tab=log`}>{shortId(runId)}</Link>, record {difference?.seq} ({difference?.type}):{' '}
                  {difference?.what}
                </p>
                <CodeBlock text={JSON.stringify(difference?.recorded, null, 2)} label="Recorded" />
                <CodeBlock text={JSON.stringify(difference?.rebuilt, null, 2)} label="Rebuilt" />
              </li>
            ))}
          </ul>
        </>
      )}
    </CheckFrame>
  );
}

function Verdict({ isGood, title, children }: { isGood: boolean; title: string; children: ReactNode }): ReactNode {
  return (
    <div className={`verdict tone-${isGood ? 'ok' : 'error'}`} role="status">
      <strong>
        <span aria-hidden="true">{isGood ? '✓' : '✗'}</span> {title}
      </strong>
      <span>{children}</span>
    </div>
  );
}

interface CheckFrameProps {
  title: string;
  isLoading: boolean;
  error: Error | null;
  reload(): void;
  onClose(): void;
  children: ReactNode;
}

function CheckFrame({ title, isLoading, error, reload, onClose, children }: CheckFrameProps): ReactNode {
  return (
    <Dialog title={title} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      {children}
      {isLoading && <Loading label="Checking" />}
      {error !== null && <ErrorState error={error} retry={reload} />}
    </Dialog>
  );
}
