import { memo, type ReactNode } from 'react';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { describeCompaction, type NoteItem } from '../../../../src/views/conversation.ts';
import { formatTime } from '../../parts/figures.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import type { Tone } from '../../parts/status.tsx';

const titles: Record<NoteItem['kind'], { title: string; tone: Tone | 'plain' }> = {
  prompt: { title: 'Prompt', tone: 'plain' },
  message: { title: 'Message', tone: 'running' },
  nudge: { title: 'Reminder by the runtime', tone: 'neutral' },
  failure: { title: 'Model call failed', tone: 'error' },
  pause: { title: 'Paused', tone: 'paused' },
  resume: { title: 'Resumed', tone: 'neutral' },
  cancel: { title: 'Cancellation requested', tone: 'warning' },
  child: { title: 'Delegated', tone: 'neutral' },
  context: { title: 'Context shortened', tone: 'neutral' },
  log: { title: 'Log', tone: 'neutral' },
};

/** Everything in a conversation that is neither an answer nor a call. */
export const NoteView = memo(function NoteView({ item }: { item: NoteItem }): ReactNode {
  const { kind, from, text, at, compaction } = item;
  const { tone } = titles[kind];
  const title = compaction ? 'Conversation compacted' : titles[kind].title;
  return (
    <section className={`note note-${kind} tone-${tone}`} aria-label={title}>
      <header className="turn-head">
        <h2>{title}</h2>
        <span className="muted" title={formatTime(at)}>
          {from !== '' && `from ${sanitizeLine(from)}`}
          {describeCompaction(item)}
        </span>
      </header>
      {text.trim() !== '' && <Markdown text={text} maxLines={compaction ? 6 : 24} />}
    </section>
  );
});
