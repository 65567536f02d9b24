// Sums by agent, model or day, with a bar for the chosen measure. Columns sort.
import { type ReactNode, useState } from 'react';
import { formatCount, formatDuration } from '../../../src/views/format.ts';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { toCsv } from './csv.ts';
import { formatPeriod } from './days.ts';
import { formatSumCost, groupingLabel } from './format.ts';
import { type Group, type Grouping, type Measure, measureOf, type SortKey, type Sum, sortGroups } from './group.ts';

const columns: { key: SortKey; label: string }[] = [
  { key: 'runs', label: 'Runs' },
  { key: 'input', label: 'Tokens in' },
  { key: 'output', label: 'Tokens out' },
  { key: 'time', label: 'Time' },
  { key: 'cost', label: 'Cost' },
];

interface Sorting {
  key: SortKey;
  isDescending: boolean;
}

export interface CostTableProps {
  groups: Group[];
  total: Sum;
  by: Grouping;
  measure: Measure;
}

export function CostTable({ groups, total, by, measure }: CostTableProps): ReactNode {
  const [chosen, setChosen] = useState<Sorting | null>(null);
  // Days are in order by default; others by what is measured.
  const sorting = chosen ?? (by === 'day' ? { key: 'key', isDescending: true } : { key: sortKeyOf(measure), isDescending: true });
  const sorted = sortGroups(groups, sorting.key, sorting.isDescending);
  const max = Math.max(0, ...groups.map((group) => measureOf(group, measure) ?? 0));
  const sort = (key: SortKey) => setChosen({ key, isDescending: sorting.key === key ? !sorting.isDescending : key !== 'key' });
  return (
    <>
      <div className="costs-scroll">
        <table className="table costs-table">
          <caption className="visually-hidden">Tokens, money and time by {groupingLabel[by].toLowerCase()}</caption>
          <thead>
            <tr>
              <SortHeader label={groupingLabel[by]} own="key" {...{ sorting, sort }} />
              {columns.map(({ key, label }) => (
                <SortHeader key={key} label={label} own={key} isNumber {...{ sorting, sort }} />
              ))}
              <th scope="col" className="costs-share">
                <span className="visually-hidden">Share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((group) => (
              <tr key={group.key}>
                <th scope="row">{by === 'day' ? <time dateTime={group.key}>{formatPeriod(group.key)}</time> : group.key}</th>
                <Numbers sum={group} />
                <td className="costs-share">
                  <ShareBar value={measureOf(group, measure)} max={max} />
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Total</th>
              <Numbers sum={total} />
              <td />
            </tr>
          </tfoot>
        </table>
      </div>
      <CsvButtons text={groupsToCsv(sorted, by)} name={`retinue-costs-by-${by}.csv`} />
    </>
  );
}

function sortKeyOf(measure: Measure): SortKey {
  return measure === 'tokens' ? 'input' : measure;
}

interface SortHeaderProps {
  label: string;
  own: SortKey;
  isNumber?: boolean;
  sorting: Sorting;
  sort(key: SortKey): void;
}

function SortHeader({ label, own, isNumber = false, sorting, sort }: SortHeaderProps): ReactNode {
  const isSorted = sorting.key === own;
  const mark = (
    <span aria-hidden="true" className="sort-mark">
      {isSorted ? (sorting.isDescending ? '↓' : '↑') : ''}
    </span>
  );
  return (
    <th
      scope="col"
      className={isNumber ? 'number' : undefined}
      {...(isSorted ? { 'aria-sort': sorting.isDescending ? ('descending' as const) : ('ascending' as const) } : {})}
    >
      <button type="button" className="sort-button" onClick={() => sort(own)}>
        {isNumber && mark}
        {label}
        {!isNumber && mark}
      </button>
    </th>
  );
}

function Numbers({ sum }: { sum: Sum }): ReactNode {
  const isUnknown = sum.hasUnknown;
  return (
    <>
      <td className="number">{sum.runs.toLocaleString('en')}</td>
      <td className="number" title={`${sum.input.toLocaleString('en')}, ${sum.cached.toLocaleString('en')} of them cached`}>
        {formatCount(sum.input)}
      </td>
      <td className="number" title={sum.output.toLocaleString('en')}>
        {formatCount(sum.output)}
      </td>
      <td className="number">{formatDuration(sum.ms)}</td>
      <td
        className="number"
        {...(isUnknown ? { title: 'No price is known for some of the models. Set `prices` in the configuration.' } : {})}
      >
        {formatSumCost(sum)}
      </td>
    </>
  );
}

function ShareBar({ value, max }: { value: number | null; max: number }): ReactNode {
  return (
    <svg className="share-bar" width="100%" height="8" aria-hidden="true">
      <rect width={`${max > 0 ? ((value ?? 0) / max) * 100 : 0}%`} height="8" rx="2" />
    </svg>
  );
}

function groupsToCsv(groups: Group[], by: Grouping): string {
  const header = [by, 'runs', 'input_tokens', 'output_tokens', 'cached_tokens', 'seconds', 'cost_usd', 'cost_complete'];
  return toCsv(
    header,
    groups.map(({ key, runs, input, output, cached, ms, costUsd, hasUnknown }) => [
      ...[key, runs, input, output, cached],
      ...[ms / 1000, costUsd, hasUnknown ? 'no' : 'yes'],
    ]),
  );
}

function CsvButtons({ text, name }: { text: string; name: string }): ReactNode {
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div className="costs-csv">
      <span className="muted">CSV</span>
      <CopyButton text={text} label="Copy as CSV" />
      <Button variant="quiet" size="small" onClick={download} aria-label="Download as CSV">
        Download
      </Button>
    </div>
  );
}
