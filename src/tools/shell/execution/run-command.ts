import type { Sandbox, SandboxedCommand } from '../../../ports/sandbox.ts';
import { sandboxOwner } from '../../../ports/sandbox.ts';
import type { Subject } from '../../../ports/subject.ts';
import type { Rights } from '../../../ports/tool.ts';
import { gitPlaces } from '../../files/git-controlled-paths.ts';
import { closedAliases, gitNames, protectedPaths } from '../../files/paths.ts';
import { type Refusal, refuse } from '../../refusal.ts';
import { type Order, type Ran, run } from './run-process.ts';
import { watchForPlanted } from './watch-protected.ts';

export type Done =
  | {
      ok: true;
      ran: Ran & { ok: true };
      /** Sentences for the model. */
      notes: string[];
      /** Whether something is left that must not be. */
      spoilt?: boolean;
    }
  | Refusal;

/**
 * Runs a command with what the run may at this moment. Where there is a sandbox it runs in that or not at all; where there is none, only what
 * somebody has allowed, not what is allowed because of a sandbox.
 */
export async function runConfined(
  { subjects, ...order }: Omit<Order, 'box'> & { /** As rules were asked about the call. */ subjects(): Promise<Subject[]> },
  rights: Rights,
  { sandbox, closed }: { sandbox: Sandbox | null; closed?: string | null },
): Promise<Done> {
  if (closed) return refuse(closed);
  if (sandbox === null) return runOpen(order, rights, await subjects());
  const may = (name: string) => rights.decide(name, []).action === 'allow';
  // Rules may have come since the tools were offered.
  const writable = ['write', 'edit'].some((name) => rights.tools.includes(name) && rights.decide(name, []).action !== 'deny');
  const git = may('git');
  const places = await gitPlaces(order.cwd);
  const kept = [...protectedPaths, ...places.named, ...(git ? [] : [...gitNames, ...places.repository])];
  const watched = writable ? watchForPlanted(order.cwd, [...kept, ...closedAliases]) : null;
  if (watched?.ok === false) return watched;
  using planted = watched?.watch;
  const made = await sandbox.confine({
    argv: order.argv,
    workspace: order.cwd,
    ...{ writable, git, network: may('network') },
    ...{ protect: kept, hide: closedAliases, env: order.env },
  });
  if (!made.ok) return refuse(made.reason);
  const { ran, reached } = await runIn(made.confined, order);
  const { moved, left } = (await planted?.moveAway()) ?? { moved: [], left: [] };
  if (!ran.ok) return ran;
  const renamed = moved.map((name) => `${name} may not be made by a command; it was renamed`);
  const stays = left.map((name) => `${name} may not be made by a command, and could not be renamed: remove it`);
  return { ok: true, ran, notes: [...reached, ...renamed, ...stays], spoilt: stays.length > 0 };
}

/** Each owner's word about each subject counts, not only the one that decided: another ruleset may have been stricter, and was answered. */
async function runOpen(order: Order, rights: Rights, subjects: Subject[]): Promise<Done> {
  if (rights.decide('bash', subjects, { without: sandboxOwner }).action === 'deny')
    return refuse('commands of this run are allowed in a sandbox only, and there is none here now; `retinue doctor` says how to get one');
  const ran = await run(order);
  return ran.ok ? { ok: true, ran, notes: [] } : ran;
}

async function runIn(box: SandboxedCommand, order: Order): Promise<{ ran: Ran; reached: string[] }> {
  let ran: Ran;
  let reached: string[] = [];
  try {
    ran = await run({ ...order, argv: box.argv, env: box.env, box });
  } finally {
    reached = await box.release();
  }
  return { ran, reached };
}
