import { type ReactNode, useEffect, useMemo } from 'react';
import type { CostRow } from '../../../src/contract/view.ts';
import { formatCount, formatDuration, formatShare } from '../../../src/views/format.ts';
import { SeriesMark, StackChart, seriesClass } from '../costs/chart.tsx';
import { Choice } from '../costs/choice.tsx';
import { CostTable } from '../costs/cost-table.tsx';
import { listPeriods, type RangeName, rowsInRange } from '../costs/days.ts';
import { formatSumCost, measureLabel } from '../costs/format.ts';
import { type Grouping, groupRows, type Measure, type Sum, sumRows } from '../costs/group.ts';
import { PeriodTable } from '../costs/period-table.tsx';
import { stackRows } from '../costs/stack.ts';
import { useClient, useHub } from '../data/context.tsx';
import { createThrottledLoader } from '../data/throttled-loader.ts';
import { useResource } from '../data/use-resource.ts';
import { Page } from '../parts/page.tsx';
import { EmptyState, ErrorState, Loading } from '../parts/states.tsx';
import { Link, setQuery, useRoute } from '../router.tsx';
import './costs.css';

const ranges = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['all', 'All'],
] as const satisfies readonly (readonly [RangeName, string])[];
const measures = (['cost', 'tokens', 'time', 'runs'] as const).map((name) => [name, measureLabel[name]] as const);
const groupings = [
  ['agent', 'Agent'],
  ['model', 'Model'],
] as const;
const tables = [...groupings, ['day', 'Day']] as const;

export function CostsPage(): ReactNode {
  const client = useClient();
  const { data, error, reload } = useResource((signal) => client.costs({ signal }), [client]);
  useReloadAfterRuns(reload);
  return (
    <Page title="Costs" subtitle="What runs used themselves, without the runs they delegated. Days are in UTC.">
      {error !== null && <ErrorState error={error} retry={reload} />}
      {data === undefined && error === null && <Loading label="Loading costs" />}
      {data !== undefined && data.length === 0 && (
        <EmptyState title="No runs yet" command={'retinue run "What is in this folder?"'}>
          <p>
            Tokens, money and time appear here after the first run. <Link to="/start">Start a run here</Link>, or in a terminal in this
            workspace:
          </p>
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && <Costs rows={data} />}
    </Page>
  );
}

function Costs({ rows }: { rows: CostRow[] }): ReactNode {
  const { query } = useRoute();
  const range = chooseFrom(ranges, query.get('range'), '30');
  const measure = chooseFrom(measures, query.get('measure'), 'cost') as Measure;
  const by = chooseFrom(groupings, query.get('by'), 'model');
  const table = chooseFrom(tables, query.get('table'), by) as Grouping;
  // Changes only with new data: the last day does not have to change at midnight.
  const now = useMemo(() => (rows.length > 0 ? Date.now() : 0), [rows]);
  const shown = useMemo(() => rowsInRange(rows, range, now), [rows, range, now]);
  const total = useMemo(() => sumRows(shown), [shown]);
  const { periods, isByMonth } = useMemo(() => listPeriods(shown, range, now), [shown, range, now]);
  const stack = useMemo(() => stackRows(shown, { by, measure, periods }), [shown, by, measure, periods]);
  const groups = useMemo(() => groupRows(shown, table), [shown, table]);
  const unpriced = useMemo(() => new Set(groupRows(shown, by).flatMap(({ key, costUsd }) => (costUsd === null ? [key] : []))), [shown, by]);
  const title = `${measureLabel[measure]} by ${isByMonth ? 'month' : 'day'} and ${by}`;
  return (
    <>
      <div className="costs-controls">
        <Choice label="Time" options={ranges} value={range} onChange={(value) => setQuery({ range: value })} />
        <Choice label="Measure" options={measures} value={measure} onChange={(value) => setQuery({ measure: value })} />
        <Choice label="Colour by" options={groupings} value={by} onChange={(value) => setQuery({ by: value, table: null })} />
      </div>
      {shown.length === 0 ? (
        <EmptyState title="No runs in this time">
          <p>Choose a longer time to see earlier runs.</p>
        </EmptyState>
      ) : (
        <>
          <Totals sum={total} />
          <section className="card costs-card" aria-labelledby="costs-chart">
            <h2 id="costs-chart">{title}</h2>
            {measure === 'cost' && total.hasUnknown && <UnknownPrices isAll={total.costUsd === null} />}
            <ul className="costs-legend">
              {stack.series.map((key, index) => (
                <li key={key}>
                  <SeriesMark className={seriesClass(index, key)} /> <span className="truncate">{key}</span>
                  {measure === 'cost' && unpriced.has(key) && <span className="muted">price unknown</span>}
                </li>
              ))}
            </ul>
            <StackChart stack={stack} measure={measure} label={title} />
            <PeriodTable stack={stack} measure={measure} />
          </section>
          <section aria-labelledby="costs-table">
            <div className="costs-table-head">
              <h2 id="costs-table">Totals</h2>
              <Choice label="Table by" options={tables} value={table} onChange={(value) => setQuery({ table: value })} />
            </div>
            <CostTable key={table} groups={groups} total={total} by={table} measure={measure} />
          </section>
        </>
      )}
    </>
  );
}

function chooseFrom<T extends string>(options: readonly (readonly [T, string])[], asked: string | null, fallback: T): T {
  return options.find(([name]) => name === asked)?.[0] ?? fallback;
}

function Totals({ sum }: { sum: Sum }): ReactNode {
  const figures: [string, string, string][] = [
    ['Cost', formatSumCost(sum), ''],
    [
      'Tokens',
      formatCount(sum.input + sum.output),
      `${formatCount(sum.input)} in (${formatShare(sum.cached, sum.input)} cached), ${formatCount(sum.output)} out`,
    ],
    ['Time of runs', formatDuration(sum.ms), ''],
    ['Runs', sum.runs.toLocaleString('en'), ''],
  ];
  return (
    <dl className="costs-totals">
      {figures.map(([label, value, more]) => (
        <div key={label} className="card">
          <dt>{label}</dt>
          <dd className="figure">{value}</dd>
          {more !== '' && <dd className="muted costs-more">{more}</dd>}
        </div>
      ))}
    </dl>
  );
}

function UnknownPrices({ isAll }: { isAll: boolean }): ReactNode {
  return (
    <p className="costs-unknown">
      {isAll
        ? 'No price is known for these models, so there is no cost to show.'
        : 'Models without a known price are missing in this chart.'}{' '}
      Set <code>prices</code> in the configuration to see what they cost.
    </p>
  );
}

const relevant = new Set<string>(['run.ended', 'model.answered']);

/** Loads again while runs go on, at most every few seconds. */
function useReloadAfterRuns(reload: () => void): void {
  const hub = useHub();
  useEffect(() => {
    const loader = createThrottledLoader(async () => reload(), { soonMs: 1_000, intervalMs: 5_000 });
    const unsubscribe = hub.subscribe({ onEvent: (event) => void (relevant.has(event.type) && loader.request()), onReset: loader.request });
    return () => {
      unsubscribe();
      loader.close();
    };
  }, [hub, reload]);
}
