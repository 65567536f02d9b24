// Lets a runtime export traces. Loaded only if traces are configured.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AssemblyInput } from '../config/assembly.ts';
import type { Runtime } from '../kernel/runtime.ts';
import type { Exporter } from '../telemetry/exporter.ts';
import { startTraces } from '../telemetry/start.ts';
import { findPackageRoot } from './package-root.ts';

/** How long a process that closes waits for its last traces. */
const flushMs = 2_000;

/** Null if traces cannot be exported, which is reported. */
function startTraceExporter({ store, telemetry, warn = () => {} }: AssemblyInput): Exporter | null {
  if (telemetry?.state === 'unusable') warn(`no traces are exported: ${telemetry.problem}`);
  if (telemetry?.state !== 'on') return null;
  const { version } = JSON.parse(readFileSync(join(findPackageRoot(), 'package.json'), 'utf8')) as { version: string };
  return startTraces(telemetry.export, { store, version, warn });
}

/** The same runtime; closing it also sends the last traces, while the store is still open. */
export function traceRuntime(runtime: Runtime, input: AssemblyInput): Runtime {
  const exporter = startTraceExporter(input);
  if (!exporter) return runtime;
  runtime.listen(
    (event) => {
      if (event.type !== 'delta') exporter.wake(event.runId);
    },
    () => false,
  );
  return {
    ...runtime,
    async close() {
      try {
        await runtime.close();
      } finally {
        await exporter.flush(flushMs);
      }
    },
  };
}

/** Sends the spans of trees whose runs were ended although no process drove them. */
export async function traceEndedRuns(runIds: string[], input: AssemblyInput): Promise<void> {
  const exporter = startTraceExporter(input);
  for (const runId of runIds) exporter?.wake(runId);
  await exporter?.flush(flushMs);
}
