// The exporter with its real parts: store, network and timers. OpenTelemetry is loaded with the first spans.
import type { TraceExport } from '../config/telemetry.ts';
import type { Store } from '../ports/store.ts';
import type { Encoder } from './encode.ts';
import { createExporter, type Exporter, type SendResult } from './exporter.ts';
import { createPost } from './send.ts';
import type { Span } from './span.ts';

export interface TraceDeps {
  store: Pick<Store, 'facts' | 'run'>;
  /** Version of Retinue. */
  version: string;
  /** Gets one line for the user, at most once. */
  warn(message: string): void;
}

export function startTraces(settings: TraceExport, { store, version, warn }: TraceDeps): Exporter {
  const post = createPost(settings);
  let loading: Promise<Encoder> | null = null;

  async function send(spans: Span[], signal: AbortSignal): Promise<SendResult> {
    loading ??= import('./encode.ts').then(({ createEncoder }) => createEncoder({ ...settings, version }));
    const encoder = await loading;
    const result = await post(encoder.encode(spans), encoder.contentType, signal);
    if (!result.ok) return result;
    const rejected = encoder.readRejection(result.body);
    return rejected ? { ok: false, again: false, reason: `${rejected.count} spans were rejected: ${rejected.reason}` } : { ok: true };
  }

  return createExporter({
    ...settings,
    send,
    readFacts: (query) => store.facts(query),
    findRoot: async (runId) => (await store.run(runId))?.rootId ?? null,
    report: (problem) => warn(`traces cannot be sent to ${settings.shownUrl} (${problem}); runs are not affected`),
    schedule(ms, run) {
      const timer = setTimeout(run, ms).unref();
      return () => clearTimeout(timer);
    },
  });
}
