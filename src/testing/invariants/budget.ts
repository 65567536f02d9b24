// Invariant 5 read off facts: once a run and what is below it have spent more than its limit, no call begins below it but those that were paid
// for in advance. A run pays for one call at a time, so that is at most one more question of each run that was there by then.
import type { FactOf, StoredFact } from '../../contract/fact.ts';

interface Account {
  tokens: { limit: number | null; spent: number };
  cost: { limit: number | null; spent: number };
  /** Questions since a limit was passed, by run; null while none was. */
  since: Map<string, number> | null;
}

const tolerance = 1e-6;

/** `facts` of the whole store, in the order of their positions. */
export function budgetFaults(facts: StoredFact[], journals: Map<string, StoredFact[]>): { runId: string; what: string }[] {
  const faults: { runId: string; what: string }[] = [];
  const accounts = new Map<string, Account>();
  const above = (runId: string): [string, Account][] => {
    const account = accounts.get(runId);
    const first = journals.get(runId)?.[0] as FactOf<'run.created'> | undefined;
    return account ? [[runId, account], ...(first?.data.parentId ? above(first.data.parentId) : [])] : [];
  };
  for (const fact of facts) {
    if (fact.type === 'run.created') accounts.set(fact.runId, accountOf(fact));
    else if (fact.type === 'model.answered' || fact.type === 'model.failed') {
      const { usage, costUsd } = fact.data;
      for (const [, account] of above(fact.runId)) spend(account, (usage?.input ?? 0) + (usage?.output ?? 0), costUsd ?? 0);
    } else if (fact.type === 'model.asked' && fact.data.attempt === 1)
      for (const [runId, { since }] of above(fact.runId)) {
        if (!since) continue;
        const times = (since.get(fact.runId) ?? 0) + 1;
        since.set(fact.runId, times);
        if (times === 2) faults.push({ runId, what: `run ${fact.runId} asked twice after the limit was passed (fact ${fact.seq})` });
      }
  }
  return faults;
}

function accountOf({ data }: FactOf<'run.created'>): Account {
  const { maxTokens, maxCostUsd } = data.grant.limits;
  return { tokens: { limit: maxTokens.value, spent: 0 }, cost: { limit: maxCostUsd.value, spent: 0 }, since: null };
}

function spend(account: Account, tokens: number, costUsd: number): void {
  account.tokens.spent += tokens;
  account.cost.spent += costUsd;
  const passed = [account.tokens, account.cost].some(({ limit, spent }) => limit !== null && spent > limit + tolerance);
  if (passed) account.since ??= new Map();
}
