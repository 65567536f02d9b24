import { type ReactNode, useState } from 'react';
import { isLive } from '../../../../src/contract/run-status.ts';
import type { ConversationItem } from '../../../../src/views/conversation.ts';
import { Button } from '../../parts/button.tsx';
import { Duration } from '../../parts/figures.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { EmptyState, Loading } from '../../parts/states.tsx';
import { OutcomeCard } from '../tree/outcome-card.tsx';
import { AnswerView, Reasoning, TurnHead } from './answer-view.tsx';
import { CallView, callRevision } from './call-view.tsx';
import { ChildLinks } from './child-links.tsx';
import { NoteView } from './note-view.tsx';
import type { RunPageView } from './run-view.ts';
import { useFollowEnd } from './use-follow-end.ts';

/** Of a very long conversation, the beginning is shown on request. */
const maxItems = 300;

export function ConversationTab({ view }: { view: RunPageView }): ReactNode {
  const { record, run, version } = view;
  const { items } = record.conversation;
  const [isWhole, setWhole] = useState(false);
  const isRunning = isLive(run.status);
  const { end, isAtEnd, jump } = useFollowEnd(version, isRunning);
  if (run.kind === 'client') return <ClientChildren view={view} />;
  if (!record.isLoaded) return <Loading label="Loading the conversation" />;
  if (items.length === 0 && record.conversation.askedAt === null)
    return (
      <EmptyState title={emptyTitle(view)}>
        <p>{emptyText(view)}</p>
      </EmptyState>
    );
  const hidden = isWhole ? 0 : Math.max(0, items.length - maxItems);
  return (
    <div className="conversation">
      {hidden > 0 && (
        <Button onClick={() => setWhole(true)}>
          Show {hidden.toLocaleString('en')} earlier {hidden === 1 ? 'entry' : 'entries'}
        </Button>
      )}
      {items.slice(hidden).map((item) => (
        <Item key={`${item.kind} ${item.seq}`} item={item} view={view} />
      ))}
      <Streaming view={view} />
      <div ref={end} className="conversation-end" />
      {isRunning && !isAtEnd && (
        <Button className="jump" onClick={jump}>
          ↓ Latest
        </Button>
      )}
    </div>
  );
}

/** A client has no model: what it delegated is all there is to show. */
function ClientChildren({ view: { run, state } }: { view: RunPageView }): ReactNode {
  if (run.children.length === 0)
    return (
      <EmptyState title="Nothing was delegated">
        <p>This run is a program that delegates. It has no conversation; the runs that it starts appear here.</p>
      </EmptyState>
    );
  const children = run.children.map((id) => ({ id, label: null, agent: null, outcome: null }));
  return (
    <>
      <p className="muted">This run is a program that delegates. It has no conversation. It has started:</p>
      <ChildLinks runs={children} state={state} />
    </>
  );
}

function Item({ item, view }: { item: ConversationItem; view: RunPageView }): ReactNode {
  switch (item.kind) {
    case 'answer':
      return <AnswerView item={item} view={view} />;
    case 'call':
      return <CallView item={item} state={view.state} revision={callRevision(item, view.state)} />;
    case 'end':
      return <OutcomeCard outcome={item.outcome} maxLines={60} isRepeated={isLastAnswer(item.outcome.summary, view)} />;
    default:
      return <NoteView item={item} />;
  }
}

/** Whether the text is that of the last answer, which is right above it. */
function isLastAnswer(text: string, { record }: RunPageView): boolean {
  const last = record.conversation.items.findLast(({ kind }) => kind === 'answer');
  return last?.kind === 'answer' && last.text.trim() === text.trim();
}

/** The answer while it is written. */
function Streaming({ view: { record } }: { view: RunPageView }): ReactNode {
  const { streaming, askedAt, turn } = record.conversation;
  if (askedAt === null) return null;
  return (
    <section className="turn" aria-label={`Turn ${streaming?.turn ?? turn}, in progress`} aria-busy="true">
      <TurnHead turn={streaming?.turn ?? turn}>
        <span className="tone-running tone-text">
          {streaming === null || (streaming.text === '' && streaming.reasoning !== '') ? 'thinking' : 'writing'} <Duration from={askedAt} />
        </span>
      </TurnHead>
      {record.isStreamCut && streaming !== null && (
        <p className="muted">You joined in the middle of this answer. The whole text appears when it is complete.</p>
      )}
      {streaming !== null && streaming.reasoning.trim() !== '' && <Reasoning text={streaming.reasoning} isOpen={streaming.text === ''} />}
      {streaming !== null && streaming.text !== '' && <Markdown text={streaming.text} maxLines={100_000} />}
    </section>
  );
}

function emptyTitle({ detail }: RunPageView): string {
  return detail.erasedAt === undefined ? 'Nothing yet' : 'The conversation was erased';
}

function emptyText({ detail, run }: RunPageView): string {
  if (detail.erasedAt !== undefined) return 'The log still has the numbers, times and hashes of its records.';
  return run.status === 'queued'
    ? 'The run waits for a free place. Its conversation appears here as soon as it starts.'
    : 'No model was called.';
}
