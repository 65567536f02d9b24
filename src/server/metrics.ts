// Figures of the server and its runs, in the text format of Prometheus.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Api } from '../api/api.ts';
import type { Tokens } from '../contract/outcome.ts';
import { type CostRow, RunView } from '../contract/view.ts';
import type { EventHub } from './events.ts';

export interface Metrics {
  read(): Promise<string>;
}

type Sample = [labels: Record<string, string>, value: number];

export function createMetrics(api: Api, events: EventHub, version: string): Metrics {
  const readLag = createLagMonitor();
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
      return [
        metric('retinue_build_info', 'gauge', 'Version of Retinue.', [[{ version }, 1]]),
        metric('retinue_runs', 'gauge', 'Runs by status.', byStatus({ ...ended, ...Object.fromEntries(statuses) })),
        metric('retinue_tokens_total', 'counter', 'Tokens used by all runs.', tokens),
        metric('retinue_cost_usd_total', 'counter', 'Known cost of all runs in US dollars.', [[{}, sum((row) => row.costUsd ?? 0)]]),
        metric('retinue_questions', 'gauge', 'Calls that wait for approval.', [[{}, (await api.questions()).length]]),
        metric('retinue_event_subscribers', 'gauge', 'Open event streams.', [[{}, events.readers()]]),
        metric('retinue_event_cuts_total', 'counter', 'Event streams cut because their reader was slow.', [[{}, events.cuts()]]),
        metric('retinue_event_loop_lag_seconds', 'gauge', 'Delay of timers since the last reading.', readLag()),
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

const lagSampleMs = 50;

/** The delay of the event loop since the last reading. The monitor wakes the process, so it begins with the first reading. */
function createLagMonitor(): () => Sample[] {
  let monitor: ReturnType<typeof monitorEventLoopDelay> | null = null;
  return () => {
    if (monitor === null) {
      monitor = monitorEventLoopDelay({ resolution: lagSampleMs });
      monitor.enable();
    }
    const { count } = monitor;
    const percentile = monitor.percentile.bind(monitor);
    // A sample is the time between two timers.
    const readShare = (share: number) => (count === 0 ? 0 : Math.max(0, percentile(share * 100) / 1e9 - lagSampleMs / 1000));
    const samples: Sample[] = [0.5, 0.99, 1].map((share) => [{ quantile: String(share) }, readShare(share)]);
    monitor.reset();
    return samples;
  };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}
