// Whether the process of a lease is alive: by its heartbeat on the clock of the database, or at once if it was a process of this machine that has ended.
import { getOwnIdentity, hasEndedHere, type ProcessIdentity } from '../process-identity.ts';
import type { Timing } from './options.ts';

/** What `columns` and `isSilent` select. */
export interface OwnerRow extends ProcessIdentity {
  id: string;
  isSilent: boolean;
}

export interface Liveness {
  self: ProcessIdentity;
  /** Columns of the table `owners`, as SQL. */
  columns: string;
  /** An SQL condition on the table `owners`. */
  isSilent: string;
  /** False: its trees can be taken. */
  isHeld(owner: OwnerRow): boolean;
}

export function createLiveness(timing: Pick<Timing, 'silence' | 'restartGrace'>): Liveness {
  const self = getOwnIdentity();
  const isLonger = (since: string, ms: number) => `clock_timestamp() - ${since} > interval '1 millisecond' * ${ms}`;
  return {
    self,
    columns: 'owners.id, owners.pid, owners.started, owners.boot, owners.space',
    isSilent: `(${isLonger('owners.beat', timing.silence)} AND ${isLonger('pg_postmaster_start_time()', timing.restartGrace)})`,
    isHeld: (owner) => !owner.isSilent && !hasEndedHere(owner, self),
  };
}
