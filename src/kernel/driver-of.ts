// Which driver carries out a run that is not a connected client.
import { driveAbandonedClient, driveAgent } from './drivers.ts';
import { driveExternal } from './external.ts';
import { driveFlow } from './flow.ts';
import type { Driver } from './lifecycle.ts';
import type { Run } from './run.ts';

export function driverOf({ work, state, program }: Run): Driver {
  if (!work) return program ? driveFlow : driveAbandonedClient;
  return state.created.data.external ? driveExternal : driveAgent;
}
