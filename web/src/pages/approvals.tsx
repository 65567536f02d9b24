import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Question } from '../../../src/contract/view.ts';
import { useQuestions } from '../data/use-questions.tsx';
import { Button } from '../parts/button.tsx';
import { Page } from '../parts/page.tsx';
import { EmptyState, ErrorState, Loading } from '../parts/states.tsx';
import { type Inbox, mergeQuestions, removeSettled } from './approvals/inbox.ts';
import { QuestionCard } from './approvals/question-card.tsx';
import './approvals/approvals.css';

export function ApprovalsPage(): ReactNode {
  const { questions, error, reload } = useQuestions();
  const { inbox, settle, clear } = useInbox(questions);
  const open = inbox.filter(({ state }) => state.kind === 'open');
  const settled = inbox.length - open.length;
  return (
    <Page
      title="Approvals"
      subtitle="Calls that a rule lets run only after somebody has approved them, and questions of flows. No answer in time counts as a refusal."
      actions={settled > 0 ? <Button onClick={clear}>Clear answered</Button> : undefined}
    >
      {error !== null && questions === undefined && <ErrorState error={error} retry={reload} />}
      {questions === undefined && error === null && <Loading label="Loading approvals" />}
      {questions !== undefined && inbox.length === 0 && (
        <EmptyState title="Nothing waits for approval">
          <p>
            When a run wants to do something that a rule with <code>ask</code> covers, the call appears here with all its arguments. So do
            the questions of flows. Runs wait for the answer.
          </p>
        </EmptyState>
      )}
      <ol className="questions">
        {inbox.map(({ question, state }) => (
          <li key={question.id + question.hash}>
            <QuestionCard question={question} state={state} onSettle={(text, tone) => settle(question, text, tone)} onConflict={reload} />
          </li>
        ))}
      </ol>
    </Page>
  );
}

/** A card stays in its place after its answer, so that no other one moves under the pointer. */
function useInbox(questions: Question[] | undefined): {
  inbox: Inbox;
  settle(question: Question, text: string, tone: 'ok' | 'warning' | 'neutral'): void;
  clear(): void;
} {
  const [inbox, setInbox] = useState<Inbox>([]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (questions === undefined) return;
    setInbox((old) => mergeQuestions(old, questions));
    isFirst.current = false;
  }, [questions]);
  return {
    inbox,
    settle: (question, text, tone) =>
      setInbox((old) =>
        old.map((entry) =>
          entry.question.id === question.id && entry.question.hash === question.hash
            ? { ...entry, state: { kind: 'settled', text, tone } }
            : entry,
        ),
      ),
    clear: () => setInbox(removeSettled),
  };
}
