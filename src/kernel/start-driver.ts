// Which driver carries out a run that is not a connected client, and when it begins.
import { driveAbandonedClient, driveAgent } from './drivers.ts';
import { driveExternal } from './external/driver.ts';
import { driveFlow } from './flow/driver.ts';
import { type Driver, driveRun } from './lifecycle.ts';
import type { Run } from './run.ts';
import type { Services } from './services.ts';

/** An agent begins when it has its first slot. Flows and clients need none. */
export function startDriver(run: Run, services: Services): void {
  if (run.work) run.slot.begin(() => void driveRun(run, chooseDriver(run), services));
  else void driveRun(run, chooseDriver(run), services);
}

function chooseDriver({ work, state, program }: Run): Driver {
  if (!work) return program ? driveFlow : driveAbandonedClient;
  return state.created.data.external ? driveExternal : driveAgent;
}
