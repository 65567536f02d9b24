// The facts of a run, one line each; a line opens to the whole record.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { stringifySafely } from '../../../../src/text/terminal.ts';
import type { LogEntry } from '../../data/run-store.ts';
import { formatClock, formatTime } from '../../parts/figures.tsx';
import { useScrollMargin } from '../../parts/scroll-margin.ts';
import { EmptyState, Loading } from '../../parts/states.tsx';
import { CodeBlock } from '../../parts/text.tsx';
import { useRoute } from '../../router.tsx';
import { filterLog } from './log-filter.ts';
import type { RunPageView } from './run-view.ts';

const lineHeight = 30;

export function LogTab({ view: { record, version } }: { view: RunPageView }): ReactNode {
  const [type, setType] = useState('');
  const [text, setText] = useState('');
  const { log, isLoaded } = record;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the log changes in place; the version tells when.
  const shown = useMemo(() => filterLog(log, { type, text }), [log, version, type, text]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const types = useMemo(() => [...new Set(log.map(({ fact }) => fact.type))].sort(), [log, version]);
  if (!isLoaded) return <Loading label="Loading the log" />;
  return (
    <>
      <search className="filter-bar">
        <input
          className="input filter-text"
          type="search"
          data-filter
          aria-label="Filter the log by text"
          placeholder="Filter by text"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <select className="input filter-agent" aria-label="Type of record" value={type} onChange={(event) => setType(event.target.value)}>
          <option value="">All types</option>
          {types.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <span className="muted">{shown.length === log.length ? `${log.length} records` : `${shown.length} of ${log.length} records`}</span>
      </search>
      {shown.length === 0 ? <EmptyState title="No record matches" /> : <LogList entries={shown} />}
    </>
  );
}

function LogList({ entries }: { entries: LogEntry[] }): ReactNode {
  const list = useRef<HTMLOListElement>(null);
  const scrollMargin = useScrollMargin(list);
  // The address can name a record, as the results of a search do.
  const asked = Number(useRoute().query.get('record') ?? Number.NaN);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set([asked]));
  const virtualizer = useWindowVirtualizer({
    count: entries.length,
    estimateSize: () => lineHeight,
    getItemKey: (index) => (entries[index] as LogEntry).fact.seq,
    overscan: 20,
    scrollMargin,
  });
  const askedIndex = entries.findIndex(({ fact }) => fact.seq === asked);
  const isPlaced = scrollMargin > 0 && askedIndex >= 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only once, so that the user can scroll away.
  useEffect(() => {
    if (isPlaced) virtualizer.scrollToIndex(askedIndex, { align: 'center' });
  }, [isPlaced, asked]);
  const toggle = (seq: number) => {
    const next = new Set(open);
    if (!next.delete(seq)) next.add(seq);
    setOpen(next);
  };
  return (
    <ol ref={list} className="log" style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map((item) => {
        const entry = entries[item.index] as LogEntry;
        return (
          <li
            key={item.key}
            ref={virtualizer.measureElement}
            data-index={item.index}
            className="log-entry"
            style={{ transform: `translateY(${item.start - scrollMargin}px)` }}
          >
            <LogLine entry={entry} isOpen={open.has(entry.fact.seq)} onToggle={() => toggle(entry.fact.seq)} />
          </li>
        );
      })}
    </ol>
  );
}

function LogLine({ entry: { fact, text }, isOpen, onToggle }: { entry: LogEntry; isOpen: boolean; onToggle(): void }): ReactNode {
  return (
    <>
      <button type="button" className="log-line" aria-expanded={isOpen} onClick={onToggle}>
        <span className="log-seq muted figure">{fact.seq}</span>
        <time className="log-time muted figure" dateTime={fact.at} title={formatTime(fact.at)}>
          {formatClock(fact.at)}
        </time>
        <code className="log-type">{fact.type}</code>
        <span className="truncate">{'erased' in fact ? <em className="muted">erased</em> : text}</span>
      </button>
      {isOpen && <CodeBlock text={stringifySafely(fact, 2)} label={`Record ${fact.seq}`} maxLines={60} canCopy />}
    </>
  );
}
