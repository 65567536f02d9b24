// Figures of the server and its runs, in the text format of Prometheus.
import type { Api } from '../api/api.ts';
import type { Tokens } from '../contract/outcome.ts';
import { type CostRow, RunView } from '../contract/view.ts';
import type { EventHub } from './events.ts';

export interface Metrics {
  read(): Promise<string>;
}

type Sample = [labels: Record<string, string>, value: number];

export function createMetrics(api: Api, events: EventHub, version: string): Metrics {
  let known: { position: string; costs: CostRow[]; ended: Record<string, number> } | null = null;

  /** Reads all runs only if something was recorded since the last time. */
  async function loadTotals() {
    const position = await api.position();
    if (known?.position !== position) known = { position, costs: await api.costs(), ended: await api.countEnded() };
    return known;
  }

  return {
    async read() {
      const { costs, ended } = await loadTotals();
      const live = await api.ps({ all: false });
      const statuses = live.map(({ status }): [string, number] => [status, live.filter((run) => run.status === status).length]);
      const sum = (of: (row: CostRow) => number) => costs.reduce((total, row) => total + of(row), 0);
      const tokens = tokenKinds.map((kind): Sample => [{ kind }, sum((row) => row.tokens[kind])]);
      const lagSeconds = (await measureLagMs()) / 1000;
      return [
        metric('retinue_build_info', 'gauge', 'Version of Retinue.', [[{ version }, 1]]),
        metric('retinue_runs', 'gauge', 'Runs by status.', byStatus({ ...ended, ...Object.fromEntries(statuses) })),
        metric('retinue_tokens_total', 'counter', 'Tokens used by all runs.', tokens),
        metric('retinue_cost_usd_total', 'counter', 'Known cost of all runs in US dollars.', [[{}, sum((row) => row.costUsd ?? 0)]]),
        metric('retinue_questions', 'gauge', 'Calls that wait for approval.', [[{}, (await api.questions()).length]]),
        metric('retinue_event_subscribers', 'gauge', 'Open event streams.', [[{}, events.readers()]]),
        metric('retinue_event_cuts_total', 'counter', 'Event streams cut because their reader was slow.', [[{}, events.cuts()]]),
        metric('retinue_event_loop_lag_seconds', 'gauge', 'Delay of a timer that was due at once.', [[{}, lagSeconds]]),
        metric('process_resident_memory_bytes', 'gauge', 'Resident memory.', [[{}, process.memoryUsage.rss()]]),
        metric('process_cpu_seconds_total', 'counter', 'CPU time.', [[{}, cpuSeconds()]]),
        metric('process_start_time_seconds', 'gauge', 'Start of the process.', [[{}, performance.timeOrigin / 1000]]),
      ].join('');
    },
  };
}

const tokenKinds: (keyof Tokens)[] = ['input', 'output', 'cached', 'reasoning'];

function byStatus(counts: Record<string, number>): Sample[] {
  return RunView.shape.status.options.map((status) => [{ status }, counts[status] ?? 0]);
}

/** Labels are names of statuses and versions, which need no escaping. */
function metric(name: string, type: 'gauge' | 'counter', help: string, samples: Sample[]): string {
  const lines = samples.map(([labels, value]) => {
    const text = Object.entries(labels).map(([label, each]) => `${label}="${each}"`);
    return `${name}${text.length === 0 ? '' : `{${text.join(',')}}`} ${value}`;
  });
  return `${[`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')}\n`;
}

/** Measured when asked for: a monitor would wake the idle process. */
function measureLagMs(): Promise<number> {
  const start = performance.now();
  return new Promise((resolve) => setImmediate(() => resolve(performance.now() - start)));
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}
