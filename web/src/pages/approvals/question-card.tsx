// One call that waits for approval, completely in view, with the ways to answer.
import { type ReactNode, useEffect, useId, useState } from 'react';
import { isRemoteError } from '../../../../src/client/error.ts';
import type { AnswerRequest } from '../../../../src/contract/http.ts';
import type { Question } from '../../../../src/contract/view.ts';
import { isFlowQuestion } from '../../../../src/views/describe-question.ts';
import { shortId } from '../../../../src/views/format.ts';
import { type QuestionParts, questionToParts } from '../../../../src/views/question-parts.ts';
import { useClient, useMissingRole } from '../../data/context.tsx';
import { ArgumentList } from '../../parts/arguments.tsx';
import { Button } from '../../parts/button.tsx';
import { Age, Countdown } from '../../parts/figures.tsx';
import { Link } from '../../router.tsx';
import type { CardState } from './inbox.ts';

interface QuestionCardProps {
  question: Question;
  state: CardState;
  onSettle(text: string, tone: 'ok' | 'warning' | 'neutral'): void;
  /** The run asks about another call now. */
  onConflict(): void;
}

/** A click sooner than this after the card has appeared was meant for something else. */
const settleMs = 500;

export function QuestionCard({ question, state, onSettle, onConflict }: QuestionCardProps): ReactNode {
  const titleId = useId();
  const parts = questionToParts(question);
  const isOpen = state.kind === 'open';
  const isFlow = isFlowQuestion(question);
  return (
    <article className={`question card ${isOpen ? '' : 'is-settled'}`} aria-labelledby={titleId}>
      <header className="question-head">
        <h2 id={titleId}>
          {isFlow ? (
            <>
              <Link to={`/runs/${question.runId}`}>{parts.requester}</Link> <span className="muted">asks</span>
            </>
          ) : (
            <>
              <code>{parts.tool}</code> <span className="muted">for</span> <Link to={`/runs/${question.runId}`}>{parts.requester}</Link>
            </>
          )}
        </h2>
        <span className="muted">
          {shortId(question.runId)}, {isFlow ? 'step' : 'turn'} {question.turn}, asked <Age at={question.askedAt} />
        </span>
      </header>
      {parts.size !== null && <p className="muted">{parts.size}:</p>}
      {isFlow ? (
        parts.fields.map(({ name, text }) => (
          <p key={name} className="question-text">
            {text}
          </p>
        ))
      ) : (
        <CallParts parts={parts} />
      )}
      {isOpen ? (
        <Answer question={question} onSettle={onSettle} onConflict={onConflict} />
      ) : (
        <p className={`question-result tone-${state.tone}`} role="status">
          {state.text}
        </p>
      )}
    </article>
  );
}

/** What would be executed, and why it needs approval. */
function CallParts({ parts }: { parts: QuestionParts }): ReactNode {
  return (
    <>
      <section className="question-call" aria-label={`Arguments of ${parts.tool}`}>
        <ArgumentList fields={parts.fields} maxLines={Number.POSITIVE_INFINITY} />
      </section>
      <dl className="facts">
        <div>
          <dt>Asked because of</dt>
          <dd>
            <span>
              <code>{parts.rule === '' ? 'no rule allows it' : parts.rule}</code> of {parts.owner}
              {parts.about !== null && (
                <>
                  {' '}
                  for <code>{parts.about}</code>
                </>
              )}
            </span>
          </dd>
        </div>
        {parts.subjects.length > 0 && (
          <div>
            <dt>Affects</dt>
            <dd className="question-subjects">
              {parts.subjects.map((subject) => (
                <code key={subject}>{subject}</code>
              ))}
            </dd>
          </div>
        )}
      </dl>
    </>
  );
}

function Answer({ question, onSettle, onConflict }: Omit<QuestionCardProps, 'state'>): ReactNode {
  const client = useClient();
  const missing = useMissingRole('steer');
  const [isSettled, setSettled] = useState(false);
  const [isRefusing, setRefusing] = useState(false);
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settleMs);
    return () => clearTimeout(timer);
  }, []);

  const isFlow = isFlowQuestion(question);
  const off = missing ?? (isSettled ? null : 'It has just appeared.');

  const answer = async (name: string, request: AnswerRequest) => {
    setBusy(name);
    setProblem(null);
    try {
      const { result, denial } = await client.answer(question.id, { ...request, hash: question.hash });
      const { text, tone } = describeResult(request, result, denial);
      onSettle(text, tone);
    } catch (error) {
      setBusy(null);
      if (isRemoteError(error) && error.status === 409) {
        onSettle('Not answered: the run asks about another call now, which has its own card. Nothing was executed.', 'warning');
        onConflict();
      } else if (isRemoteError(error) && error.status === 404) {
        onSettle('Too late: it had been answered, its time was over, or the run has ended.', 'warning');
        onConflict();
      } else setProblem((error as Error).message);
    }
  };

  return (
    <div className="question-answer">
      {isRefusing && (
        <label className="field">
          <span>Why not? The {isFlow ? 'flow' : 'model'} reads this (optional)</span>
          <input
            className="input"
            value={reason}
            maxLength={2000}
            // biome-ignore lint/a11y/noAutofocus: the field appears because the user asked to refuse.
            autoFocus
            onChange={(event) => setReason(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') void answer('refuse', refusal(reason));
              if (event.key === 'Escape') setRefusing(false);
            }}
          />
        </label>
      )}
      <div className="question-buttons">
        {isRefusing ? (
          <>
            <Button variant="danger" isBusy={busy !== null} onClick={() => void answer('refuse', refusal(reason))}>
              Refuse
            </Button>
            <Button onClick={() => setRefusing(false)}>Back</Button>
          </>
        ) : (
          <>
            <Button variant="primary" isBusy={busy !== null} disabledReason={off} onClick={() => void answer('once', { allowed: true })}>
              {isFlow ? 'Approve' : 'Approve once'}
            </Button>
            {!isFlow && (
              <Button
                isBusy={busy !== null}
                disabledReason={off}
                title="The same subjects need no further approval in this run and those below it"
                onClick={() => void answer('always', { allowed: true, always: true })}
              >
                Approve always in this run
              </Button>
            )}
            <Button variant="danger" isBusy={busy !== null} disabledReason={off} onClick={() => setRefusing(true)}>
              Refuse…
            </Button>
          </>
        )}
        <span className="muted question-time">
          <Countdown to={question.expiresAt} past="its time is over" /> left
        </span>
      </div>
      {missing !== null && <p className="muted">{missing}</p>}
      {problem !== null && (
        <p className="error-text" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

function refusal(reason: string): AnswerRequest {
  return { allowed: false, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
}

function describeResult(
  { allowed, always }: AnswerRequest,
  result: 'answered' | 'kept' | 'late',
  denial: string | undefined,
): { text: string; tone: 'ok' | 'warning' | 'neutral' } {
  if (result === 'late') return { text: 'Too late: it had been answered, its time was over, or the run has ended.', tone: 'warning' };
  if (denial !== undefined) return { text: `Approved, but not executed: ${denial}`, tone: 'warning' };
  const later = result === 'kept' ? ' No process drives the run; the answer takes effect when it is continued.' : '';
  if (!allowed) return { text: `Refused.${later}`, tone: 'neutral' };
  return { text: `Approved${always ? ' for this run and those below it' : ''}.${later}`, tone: 'ok' };
}
