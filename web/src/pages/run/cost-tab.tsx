import { type ReactNode, useMemo } from 'react';
import { formatCount, formatDuration, formatShare } from '../../../../src/views/format.ts';
import { Money, Tokens } from '../../parts/figures.tsx';
import { EmptyState, Loading } from '../../parts/states.tsx';
import type { RunPageView } from './run-view.ts';
import { factsToTurnCosts, type TurnCost } from './turn-costs.ts';

export function CostTab({ view: { record, version, run } }: { view: RunPageView }): ReactNode {
  const { log, isLoaded } = record;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the log changes in place; the version tells when.
  const turns = useMemo(() => factsToTurnCosts(log.map(({ fact }) => fact)), [log, version]);
  if (!isLoaded) return <Loading label="Loading costs" />;
  if (turns.length === 0)
    return (
      <EmptyState title="No model was called">
        <p>Tokens, money and time of each turn appear here.</p>
      </EmptyState>
    );
  const sum = (key: 'input' | 'cached' | 'output' | 'reasoning' | 'ms') => turns.reduce((total, turn) => total + turn[key], 0);
  const own = turns.some(({ costUsd }) => costUsd !== null) ? turns.reduce((total, { costUsd }) => total + (costUsd ?? 0), 0) : null;
  const largest = Math.max(1, ...turns.map(({ input, output }) => input + output));
  return (
    <div className="cost-scroll">
      <table className="table cost-table">
        <thead>
          <tr>
            <th scope="col">Turn</th>
            <th scope="col" className="cost-bars">
              Tokens
            </th>
            <th scope="col" className="number">
              Input
            </th>
            <th scope="col" className="number">
              Cached
            </th>
            <th scope="col" className="number">
              Output
            </th>
            <th scope="col" className="number">
              Reasoning
            </th>
            <th scope="col" className="number">
              Cost
            </th>
            <th scope="col" className="number">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {turns.map((turn) => (
            <TurnRow key={turn.turn} turn={turn} largest={largest} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={2}>
              This run
            </th>
            <td className="number">{formatCount(sum('input'))}</td>
            <td className="number">
              <Cached cached={sum('cached')} input={sum('input')} />
            </td>
            <td className="number">{formatCount(sum('output'))}</td>
            <td className="number">{formatCount(sum('reasoning'))}</td>
            <td className="number">
              <Money usd={own} />
            </td>
            <td className="number">{formatDuration(sum('ms'))}</td>
          </tr>
          {run.children.length > 0 && (
            <tr>
              <th scope="row" colSpan={2}>
                With the runs below it
              </th>
              <td className="number" colSpan={4}>
                <Tokens value={run.tokens} /> tokens
              </td>
              <td className="number">
                <Money usd={run.costUsd} />
              </td>
              <td />
            </tr>
          )}
        </tfoot>
      </table>
      <p className="legend" aria-hidden="true">
        <span>
          <i className="bar-cached" /> cached input
        </span>
        <span>
          <i className="bar-input" /> new input
        </span>
        <span>
          <i className="bar-output" /> output
        </span>
      </p>
      {turns.some(({ isEstimated }) => isEstimated) && (
        <p className="muted">The provider did not report the tokens of some calls; they are estimated from the size of the text.</p>
      )}
    </div>
  );
}

function TurnRow({ turn, largest }: { turn: TurnCost; largest: number }): ReactNode {
  const width = (value: number) => ({ width: `${(100 * value) / largest}%` });
  return (
    <tr>
      <th scope="row" className="figure">
        {turn.turn}
        {turn.hasCompaction && (
          <span className="muted" title="The conversation was summarised before this turn; the call is part of its numbers">
            {' '}
            with compaction
          </span>
        )}
        {turn.failures > 0 && <span className="tone-error tone-text"> {turn.failures} failed</span>}
      </th>
      <td className="cost-bars">
        <div className="bar" aria-hidden="true">
          <span className="bar-cached" style={width(turn.cached)} />
          <span className="bar-input" style={width(turn.input - turn.cached)} />
          <span className="bar-output" style={width(turn.output)} />
        </div>
      </td>
      <td className="number">{formatCount(turn.input)}</td>
      <td className="number">
        <Cached cached={turn.cached} input={turn.input} />
      </td>
      <td className="number">{formatCount(turn.output)}</td>
      <td className="number">{formatCount(turn.reasoning)}</td>
      <td className="number">
        <Money usd={turn.costUsd} />
      </td>
      <td className="number">{formatDuration(turn.ms)}</td>
    </tr>
  );
}

/** Cached tokens and their share of the input. */
function Cached({ cached, input }: { cached: number; input: number }): ReactNode {
  return (
    <>
      {formatCount(cached)}
      {cached > 0 && <span className="muted"> {formatShare(cached, input)}</span>}
    </>
  );
}
