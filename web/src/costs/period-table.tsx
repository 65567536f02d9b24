import type { ReactNode } from 'react';
import { formatPeriod } from './days.ts';
import { formatMeasure, formatSum, measureLabel } from './format.ts';
import type { Measure } from './group.ts';
import type { Stack } from './stack.ts';

/** The numbers of the chart. Days without runs are left out. */
export function PeriodTable({ stack: { series, columns }, measure }: { stack: Stack; measure: Measure }): ReactNode {
  const used = columns.filter(({ sum }) => sum.runs > 0).toReversed();
  return (
    <details className="costs-details">
      <summary>Show the chart as a table</summary>
      <div className="costs-scroll">
        <table className="table costs-table">
          <caption className="visually-hidden">{measureLabel[measure]} by day</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              {series.map((key) => (
                <th key={key} scope="col" className="number">
                  {key}
                </th>
              ))}
              <th scope="col" className="number">
                Total
              </th>
            </tr>
          </thead>
          <tbody>
            {used.map(({ period, sum, values }) => (
              <tr key={period}>
                <th scope="row">{formatPeriod(period)}</th>
                {series.map((key, index) => (
                  <td key={key} className="number">
                    {(values[index] as number) > 0 ? formatMeasure(values[index] as number, measure) : ''}
                  </td>
                ))}
                <td className="number">{formatSum(sum, measure)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
