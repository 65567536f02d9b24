// Reading runs that are not driven here: their state, and the conversation that another run goes on with.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { Brief } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { FactData } from '../contract/fact.ts';
import { sha256 } from '../parts/canonical.ts';
import { type Pinned, toMessages } from '../parts/conversation.ts';
import { formatRule } from '../parts/policy.ts';
import type { Store } from '../ports/store.ts';
import { foldFacts, type RunState } from './state.ts';

/** The state of a run as its stored facts say. Rejects with `unknown_run`. */
export async function loadState(runId: string, store: Store): Promise<RunState> {
  const facts = await store.facts({ runId });
  if (facts.length === 0) throw new RetinueError('unknown_run', `there is no run ${runId}`);
  return foldFacts(facts);
}

/** Everything that requests of a started run are made of besides its facts. Rejects with `store_corrupt` where a text is gone. */
export async function pinnedOf(runId: string, started: FactData['run.started'], store: Pick<Store, 'blob'>): Promise<Pinned> {
  const text = async (hash: string | null) => {
    const found = hash === null ? '' : await store.blob(hash);
    if (found === null) throw new RetinueError('store_corrupt', `a text that run ${runId} pinned is gone (${hash})`);
    if (hash !== null && sha256(found) !== hash)
      throw new RetinueError('store_corrupt', `a text that run ${runId} pinned was changed (${hash})`);
    return found;
  };
  const [system, tools, history] = await Promise.all([text(started.system), text(started.tools), text(started.history)]);
  return {
    system,
    systemHash: started.system ?? '',
    tools: tools === '' ? [] : JSON.parse(tools),
    toolsHash: started.tools ?? '',
    history: history === '' ? [] : JSON.parse(history),
    historyHash: started.history,
  };
}

/** Whether a run can be gone on with. Rejects with `unknown_run` or `not_continuable`. */
export async function checkContinuable(runId: string, store: Store): Promise<void> {
  const row = await store.run(runId);
  if (!row) throw new RetinueError('unknown_run', `there is no run ${runId}`);
  if (row.endedAt === null || row.startedAt === null) throw notContinuable(runId);
}

function notContinuable(runId: string): RetinueError {
  return new RetinueError('not_continuable', `run ${runId} has not ended, or was never started: it cannot be gone on with`);
}

/** The conversation of an ended run, without its system prompt. */
export async function historyOf(runId: string, store: Store): Promise<LanguageModelV4Message[]> {
  const state = await loadState(runId, store);
  if (!state.ended || !state.started) throw notContinuable(runId);
  const earlier =
    state.started.data.history === null
      ? []
      : (JSON.parse((await store.blob(state.started.data.history)) ?? '[]') as LanguageModelV4Message[]);
  const entries = [...state.entries];
  // Providers refuse calls without results; a run that was stopped in the middle may have such.
  if (state.calls.length > 0) entries.push({ kind: 'results', calls: state.calls });
  return [...earlier, ...toMessages(entries)];
}

/** A brief that goes on with an ended run: with its agent, model and label, and with everything that narrowed it. */
export function followUp(state: RunState, task: string): Brief {
  const { brief, agent, model, grant, parentId } = state.created.data;
  const { limits, tools, label } = brief;
  // What the owner denied for the run it continues was said on a command line that is gone.
  const owners = parentId === null ? grant.rulesets.filter((set) => set.kind === 'owner') : [];
  const denied = owners.flatMap((set) => set.rules.filter((rule) => rule.action === 'deny').map(formatRule));
  const rules = [...(brief.rules ?? []), ...denied];
  return {
    task,
    continues: state.runId,
    ...(agent === null ? {} : { agent }),
    ...(parentId !== null || model === null ? {} : { model }),
    ...(label === undefined ? {} : { label }),
    ...(limits === undefined ? {} : { limits }),
    ...(tools === undefined ? {} : { tools }),
    ...(rules.length === 0 ? {} : { rules }),
  };
}
