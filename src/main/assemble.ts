// Builds an API. The command line, the MCP server and the library all use `assembleApi`.
import type { Api } from '../api/api.ts';
import { createApi } from '../api/create.ts';
import type { AssemblyInput } from '../config/assembly.ts';
import { systemClock, systemIds } from '../system/clock.ts';
import type { AssemblyHooks } from './hooks.ts';

/** The runtime, and with it everything that only running agents need, is built when the first run starts. */
export function assembleApi(input: AssemblyInput, hooks?: AssemblyHooks): Api {
  const { prepareRuntime, dialectNamed, flows: _, telemetry = { state: 'off' }, ...rest } = input;
  const traces = () => import('./trace-runtime.ts');
  const runtime = async () => {
    const [{ assembleRuntime }, prepared] = await Promise.all([import('./assemble-runtime.ts'), prepareRuntime()]);
    const created = await assembleRuntime(input, prepared, hooks);
    return telemetry.state === 'off' ? created : (await traces()).traceRuntime(created, input);
  };
  const api = createApi({ ...rest, clock: systemClock, ids: systemIds, runtime });
  if (telemetry.state === 'off') return api;
  return {
    ...api,
    async cancel(ids, reason) {
      const cancelled = await api.cancel(ids, reason);
      const ended = cancelled.flatMap(({ runId, result }) => (result === 'ended' ? [runId] : []));
      if (ended.length > 0) await (await traces()).traceEndedRuns(ended, input);
      return cancelled;
    },
  };
}
