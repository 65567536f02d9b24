import { isLive } from '../../../src/contract/run-status.ts';
import type { LiveRun } from '../../../src/contract/view.ts';
import { shortId } from '../../../src/views/format.ts';
import type { LiveState } from '../../../src/views/live-state.ts';
import { displayName, liveDescendants } from '../../../src/views/run-row.ts';
import { shownStatus } from '../../../src/views/tree-rows.ts';

/** The run that an action is about. */
export interface ActionTarget {
  id: string;
  name: string;
  kind: LiveRun['kind'];
  isLive: boolean;
  isPaused: boolean;
  turns: number;
  /** Names of live runs below it. */
  below: string[];
}

export function toTarget(run: LiveRun, state: LiveState, isUndriven: boolean): ActionTarget {
  const status = shownStatus(run, state, isUndriven);
  return {
    id: run.id,
    name: displayName(run),
    kind: run.kind,
    isLive: isLive(run.status),
    isPaused: status === 'paused' || status === 'interrupted',
    turns: run.turn,
    below: liveDescendants(run, state).map(displayName),
  };
}

const maxChars = 60;

/** `“Build” (3f2a91c0)`. */
export function nameTarget({ name, id }: Pick<ActionTarget, 'name' | 'id'>): string {
  return `“${name.length > maxChars ? `${name.slice(0, maxChars).toWellFormed()}…` : name}” (${shortId(id)})`;
}
