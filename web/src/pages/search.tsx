import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { SearchHit } from '../../../src/contract/view.ts';
import { sanitizeLine } from '../../../src/text/terminal.ts';
import { formatPlural, shortId } from '../../../src/views/format.ts';
import { useClient } from '../data/context.tsx';
import { useResource } from '../data/use-resource.ts';
import { Button } from '../parts/button.tsx';
import { Age } from '../parts/figures.tsx';
import { Page } from '../parts/page.tsx';
import { EmptyState, ErrorState, Loading } from '../parts/states.tsx';
import { Badge } from '../parts/status.tsx';
import { Link, setQuery, useRoute } from '../router.tsx';
import { moveFocus } from '../shell/list-keys.ts';
import { describePlace, splitMatches } from './search/matches.ts';
import './search/search.css';

const waitMs = 250;
const minChars = 2;
const pageSize = 50;
const maxHits = 1_000;

/** Searches the texts of all runs. The address keeps what is searched for. */
export function SearchPage(): ReactNode {
  const asked = useRoute().query.get('q') ?? '';
  const [text, setText] = useState(asked);
  const typed = useRef(asked);
  // Back and forward change the address; typing changes it after a moment.
  useEffect(() => {
    if (asked !== typed.current) {
      typed.current = asked;
      setText(asked);
    }
  }, [asked]);
  useEffect(() => {
    const timer = setTimeout(() => {
      typed.current = text.trim();
      if (text.trim() !== asked) setQuery({ q: text.trim() });
    }, waitMs);
    return () => clearTimeout(timer);
  }, [text, asked]);
  const isReady = asked.trim().length >= minChars;
  return (
    <Page title={isReady ? `Search: ${asked}` : 'Search'} heading="Search">
      <search>
        <input
          className="input search-input"
          type="search"
          data-filter
          // biome-ignore lint/a11y/noAutofocus: the page has this one purpose.
          autoFocus
          aria-label="Search in all runs"
          placeholder="Search tasks, answers, tool calls and results of all runs"
          maxLength={1_000}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </search>
      {isReady ? (
        <Results key={asked} query={asked.trim()} />
      ) : (
        <EmptyState title="Search all runs of this workspace">
          <p>Finds a text in briefs, answers, tool calls and their results, messages and outcomes. Upper and lower case are the same.</p>
          {asked !== '' && <p>Type at least {minChars} characters.</p>}
        </EmptyState>
      )}
    </Page>
  );
}

function Results({ query }: { query: string }): ReactNode {
  const client = useClient();
  const [limit, setLimit] = useState(pageSize);
  const last = useRef<SearchHit[]>(undefined);
  const { data, error, isLoading, reload } = useResource((signal) => client.search(query, { limit, signal }), [client, query, limit]);
  // More results replace fewer ones without an empty page in between.
  last.current = data ?? last.current;
  const hits = last.current;
  const list = useRef<HTMLOListElement>(null);
  if (error !== null) return <ErrorState error={error} retry={reload} />;
  if (hits === undefined) return <Loading label="Searching" />;
  if (hits.length === 0)
    return (
      <EmptyState title="Nothing found">
        <p>No run of this workspace has this text. Try a part of it, or another spelling.</p>
      </EmptyState>
    );
  const runs = new Set(hits.map(({ runId }) => runId)).size;
  const hasMore = hits.length >= limit && limit < maxHits;
  return (
    <>
      <p className="muted search-count" role="status">
        {hasMore ? `The newest ${hits.length} places` : formatPlural(hits.length, 'place')} in {formatPlural(runs, 'run')}
      </p>
      <ol ref={list} className="search-hits" aria-busy={isLoading} onKeyDown={(event) => moveFocus(event, list.current)}>
        {hits.map((hit) => (
          <li key={`${hit.runId} ${hit.seq}`}>
            <Hit hit={hit} query={query} />
          </li>
        ))}
      </ol>
      {hasMore && (
        <Button isBusy={isLoading} onClick={() => setLimit(Math.min(maxHits, limit * 4))}>
          {isLoading ? 'Searching…' : 'Show older ones'}
        </Button>
      )}
    </>
  );
}

function Hit({ hit: { runId, seq, at, type, label, agent, excerpt }, query }: { hit: SearchHit; query: string }): ReactNode {
  return (
    <Link to={`/runs/${runId}?tab=log&record=${seq}`} className="search-hit" data-row>
      <span className="search-head">
        <strong className="truncate">{sanitizeLine(label ?? agent ?? 'client')}</strong>
        {label !== null && agent !== null && <span className="muted">{agent}</span>}
        <code className="muted">{shortId(runId)}</code>
        <Badge>{describePlace(type)}</Badge>
        <span className="muted search-age">
          <Age at={at} />
        </span>
      </span>
      <span className="search-excerpt">
        {splitMatches(sanitizeLine(excerpt), query).map(({ text, isMatch }, i) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity, and never change.
          isMatch ? <mark key={i}>{text}</mark> : <span key={i}>{text}</span>,
        )}
      </span>
    </Link>
  );
}
