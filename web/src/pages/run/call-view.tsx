// A tool call: one line, and on request its arguments, the decision about it, its result and what it changed.
import { memo, type ReactNode, useState } from 'react';
import { listArguments } from '../../../../src/text/invisible.ts';
import { sanitizeLine } from '../../../../src/text/terminal.ts';
import { countChangedLines } from '../../../../src/views/changes.ts';
import type { CallItem } from '../../../../src/views/conversation.ts';
import { describeCall } from '../../../../src/views/describe-call.ts';
import { isFlowQuestion } from '../../../../src/views/describe-question.ts';
import { formatBytes, formatDuration } from '../../../../src/views/format.ts';
import type { LiveState } from '../../../../src/views/live-state.ts';
import { ArgumentList } from '../../parts/arguments.tsx';
import { Diff } from '../../parts/diff.tsx';
import { Duration, formatTime } from '../../parts/figures.tsx';
import { Badge } from '../../parts/status.tsx';
import { CodeBlock } from '../../parts/text.tsx';
import { Link } from '../../router.tsx';
import { describeDecision, statusOf } from './call-status.ts';
import { ChildLinks, describeChild } from './child-links.tsx';

/** Changes whenever something of a call that is shown changes. */
export function callRevision({ status, output, artifacts, children }: CallItem, state: LiveState): string {
  const below = children.map(({ id }) => describeChild(id, state)?.text ?? '');
  return `${status} ${output.length} ${artifacts.length} ${children.filter(({ outcome }) => outcome !== null).length} ${below.join()}`;
}

const shortDiffLines = 24;

/** The item changes in place; `revision` tells when. */
export const CallView = memo(
  function CallView({ item, state }: { item: CallItem; state: LiveState; revision: string }): ReactNode {
    const [choice, setChoice] = useState<boolean | null>(null);
    const isOpen = choice ?? isOpenAtFirst(item);
    const { tone, text, glyph } = statusOf(item);
    const title = describeCall(item.tool, item.arguments);
    const argument = title.startsWith(`${item.tool} `) ? title.slice(item.tool.length + 1) : '';
    return (
      <section className={`call tone-${tone}`} aria-label={`Call ${item.call}: ${title}`}>
        <button type="button" className="call-head" aria-expanded={isOpen} onClick={() => setChoice(!isOpen)}>
          <span className={`call-glyph ${item.status === 'open' ? 'is-live' : ''}`} aria-hidden="true">
            {glyph}
          </span>
          <code className="call-tool">{sanitizeLine(item.tool)}</code>
          <code className="call-argument truncate">{argument}</code>
          <CallFacts item={item} status={text} />
          <span aria-hidden="true" className="muted">
            {isOpen ? '▾' : '▸'}
          </span>
        </button>
        {isOpen && <CallBody item={item} />}
        {!isOpen && <DiffSummaries item={item} />}
        {item.children.length > 0 && <ChildLinks runs={item.children} state={state} />}
      </section>
    );
  },
  (before, after) => before.item === after.item && before.revision === after.revision,
);

/** What needs attention is open from the beginning. */
function isOpenAtFirst({ status, artifacts }: CallItem): boolean {
  if (status === 'error' || status === 'denied' || status === 'timeout' || status === 'waiting') return true;
  const diffs = artifacts.filter(({ kind }) => kind === 'diff');
  return diffs.length > 0 && diffs.every(({ value }) => value.split('\n').length <= shortDiffLines);
}

function CallFacts({ item, status }: { item: CallItem; status: string }): ReactNode {
  const isDone = item.endedAt !== null;
  return (
    <span className="call-facts" title={formatTime(item.at)}>
      {item.taint
        .filter((source) => source === 'web' || source === 'mcp')
        .map((source) => (
          <Badge key={source} title="The result comes from outside this machine">
            {source}
          </Badge>
        ))}
      {item.status !== 'ok' && item.rejected !== 'submit' && <span className="tone-text">{status}</span>}
      {item.status === 'ok' && <span className="visually-hidden">{status}</span>}
      <span className="muted figure">
        {isDone ? formatDuration(Date.parse(item.endedAt as string) - Date.parse(item.at)) : <Duration from={item.at} />}
      </span>
    </span>
  );
}

function CallBody({ item }: { item: CallItem }): ReactNode {
  const { output, truncated, artifacts, status } = item;
  const diffs = artifacts.filter(({ kind }) => kind === 'diff');
  const others = artifacts.filter(({ kind }) => kind !== 'diff' && kind !== 'path');
  const isBad = status === 'error' || status === 'denied' || status === 'timeout';
  return (
    <div className="call-body">
      {diffs.length === 0 && <ArgumentList fields={listArguments(item.arguments)} />}
      {diffs.map(({ title, value }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: artifacts are only added.
        <div key={i} className="call-diff">
          <DiffTitle title={title} diff={value} />
          <Diff diff={value} label={`Changes of ${title ?? 'a file'}`} hideNames />
        </div>
      ))}
      {output.trim() !== '' && (diffs.length === 0 || isBad) && (
        <CodeBlock text={output} label="Result" maxLines={16} tone={isBad ? 'error' : 'muted'} canCopy />
      )}
      {others.map(({ kind, title, value }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: artifacts are only added.
        <CodeBlock key={i} text={value} label={`${kind} ${title ?? ''}`} canCopy />
      ))}
      <p className="muted call-decision">
        {describeDecision(item)}
        {status === 'waiting' && (
          <>
            {' '}
            <Link to="/approvals">{isFlowQuestion(item) ? 'Answer it in approvals' : 'Review it in approvals'}</Link>
          </>
        )}
        {item.taint.length > 0 && ` Source of the result: ${item.taint.join(', ')}.`}
        {truncated !== null && ` The model got ${formatBytes(truncated.keptBytes)} of ${formatBytes(truncated.originalBytes)}.`}
      </p>
    </div>
  );
}

function DiffSummaries({ item: { artifacts } }: { item: CallItem }): ReactNode {
  const diffs = artifacts.filter(({ kind }) => kind === 'diff');
  if (diffs.length === 0) return null;
  return (
    <div className="call-body">
      {diffs.map(({ title, value }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: artifacts are only added.
        <DiffTitle key={i} title={title} diff={value} />
      ))}
    </div>
  );
}

export function DiffTitle({ title, diff }: { title: string | undefined; diff: string }): ReactNode {
  const { added, removed } = countChangedLines(diff);
  return (
    <p className="diff-title">
      <code>{sanitizeLine(title ?? '')}</code> <span className="diff-count-added">+{added}</span>{' '}
      <span className="diff-count-removed">−{removed}</span>
    </p>
  );
}
