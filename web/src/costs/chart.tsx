// A stacked bar chart by day. Arrow keys move through the days; a table with the same numbers is below it.
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { formatPeriod } from './days.ts';
import { formatMeasure, formatMeasureTick, formatSum, measureLabel } from './format.ts';
import type { Measure } from './group.ts';
import { type Column, maxSeries, otherKey, type Stack, valueTicks } from './stack.ts';

const height = 220;
const margin = { top: 8, right: 4, bottom: 22, left: 52 };

export function seriesClass(index: number, key: string): string {
  return key === otherKey ? 'series-other' : `series-${(index % (maxSeries + 1)) + 1}`;
}

export function StackChart({ stack, measure, label }: { stack: Stack; measure: Measure; label: string }): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [chosen, setChosen] = useState<number | null>(null);
  const { columns, series } = stack;
  const ticks = valueTicks(stack.max, measure);
  const top = ticks.at(-1) as number;
  const inner = { width: Math.max(10, width - margin.left - margin.right), height: height - margin.top - margin.bottom };
  const slot = inner.width / Math.max(1, columns.length);
  const gap = slot > 6 ? Math.min(8, slot * 0.2) : 0.5;
  const yOf = (value: number) => margin.top + inner.height * (1 - (top === 0 ? 0 : value / top));
  const column = chosen === null ? undefined : columns[chosen];

  const press = (event: KeyboardEvent) => {
    const last = columns.length - 1;
    const at = chosen ?? (event.key === 'ArrowLeft' ? columns.length : -1);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (event.key === 'Escape') setChosen(null);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(Math.min(last, Math.max(0, next)));
  };
  return (
    <div ref={frame} className="chart">
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={`${label}. Arrow keys move through the days. The table below has the same numbers.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its days are reachable with the keyboard.
        tabIndex={0}
        onKeyDown={press}
        onBlur={() => setChosen(null)}
        onPointerMove={(event) => {
          const x = event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left;
          const index = Math.floor(x / slot);
          setChosen(index >= 0 && index < columns.length ? index : null);
        }}
        onPointerLeave={() => setChosen(null)}
      >
        {ticks.map((value) => (
          <g key={value} className="chart-tick">
            <line x1={margin.left} x2={width - margin.right} y1={yOf(value)} y2={yOf(value)} />
            <text x={margin.left - 6} y={yOf(value) + 4} textAnchor="end">
              {formatMeasureTick(value, measure, ticks[1] ?? 1)}
            </text>
          </g>
        ))}
        {chosen !== null && (
          <rect className="chart-chosen" x={margin.left + chosen * slot} width={slot} y={margin.top} height={inner.height} />
        )}
        {series.map((key, index) => (
          <path key={key} className={`chart-part ${seriesClass(index, key)}`} d={seriesPath(columns, index, { slot, gap, yOf })} />
        ))}
        {labelled(columns, slot).map(({ index, text }) => (
          <text
            key={index}
            className="chart-label"
            x={Math.min(margin.left + (index + 0.5) * slot, width - 24)}
            y={height - 6}
            textAnchor="middle"
          >
            {text}
          </text>
        ))}
      </svg>
      <div className="chart-tip" aria-live="polite" data-side={chosen !== null && chosen > columns.length / 2 ? 'left' : 'right'}>
        {column && <Tip column={column} series={series} measure={measure} />}
      </div>
    </div>
  );
}

function useWidth(frame: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(120, Math.floor(element.getBoundingClientRect().width)));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [frame]);
  return width;
}

/** All parts of one series as one path. Parts too small to see still get half a pixel. */
function seriesPath(
  columns: Column[],
  index: number,
  { slot, gap, yOf }: { slot: number; gap: number; yOf(value: number): number },
): string {
  return columns
    .flatMap(({ values }, i) => {
      const value = values[index] as number;
      if (value <= 0) return [];
      const below = values.slice(0, index).reduce((sum, each) => sum + each, 0);
      const [bottom, upper] = [yOf(below), yOf(below + value)];
      const x = margin.left + i * slot + gap / 2;
      return [
        `M${x.toFixed(1)} ${bottom.toFixed(1)}h${(slot - gap).toFixed(1)}V${Math.min(upper, bottom - 0.5).toFixed(1)}h${(gap - slot).toFixed(1)}z`,
      ];
    })
    .join('');
}

/** Labels with room between them; the last period always has one. */
function labelled(columns: Column[], slot: number): { index: number; text: string }[] {
  const every = Math.max(1, Math.ceil(64 / slot));
  return columns.flatMap(({ period }, index) =>
    (columns.length - 1 - index) % every === 0 ? [{ index, text: formatPeriod(period) }] : [],
  );
}

function Tip({ column: { period, sum, values }, series, measure }: { column: Column; series: string[]; measure: Measure }): ReactNode {
  return (
    <>
      <div className="chart-tip-head">
        <strong>{formatPeriod(period)}</strong> {measureLabel[measure]}: {sum.runs === 0 ? 'no runs' : formatSum(sum, measure)}
      </div>
      {series.map((key, index) =>
        (values[index] as number) > 0 ? (
          <div key={key} className="chart-tip-line">
            <SeriesMark className={seriesClass(index, key)} />
            <span className="truncate">{key}</span>
            <span className="figure">{formatMeasure(values[index] as number, measure)}</span>
          </div>
        ) : null,
      )}
    </>
  );
}

export function SeriesMark({ className }: { className: string }): ReactNode {
  return (
    <svg width="10" height="10" aria-hidden="true" className="series-mark">
      <rect className={`chart-part ${className}`} width="10" height="10" rx="2" />
    </svg>
  );
}
