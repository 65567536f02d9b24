// Invariant 5, checked on facts: once a run and its descendants have spent more than its limit, no further model call starts among them, except
// calls whose budget was reserved before. A run reserves one call at a time, so each run may start at most one more.
import type { FactOf, StoredFact } from '../../contract/fact.ts';

interface Account {
  tokens: { limit: number | null; spent: number };
  cost: { limit: number | null; spent: number };
  /** Calls started since a limit was exceeded, by run; null while no limit is exceeded. */
  callsSinceExceeded: Map<string, number> | null;
}

const tolerance = 1e-6;

/** `facts`: all facts of the store in the order of their positions. */
export function checkBudgets(facts: StoredFact[], journals: Map<string, StoredFact[]>): { runId: string; what: string }[] {
  const faults: { runId: string; what: string }[] = [];
  const accounts = new Map<string, Account>();
  const listAccounts = (runId: string): [string, Account][] => {
    const account = accounts.get(runId);
    const first = journals.get(runId)?.[0] as FactOf<'run.created'> | undefined;
    return account ? [[runId, account], ...(first?.data.parentId ? listAccounts(first.data.parentId) : [])] : [];
  };
  for (const fact of facts) {
    if (fact.type === 'run.created') accounts.set(fact.runId, createAccount(fact));
    else if (fact.type === 'model.answered' || fact.type === 'model.failed' || fact.type === 'model.called') {
      const { usage, costUsd } = fact.data;
      for (const [, account] of listAccounts(fact.runId)) spend(account, (usage?.input ?? 0) + (usage?.output ?? 0), costUsd ?? 0);
    } else if (fact.type === 'model.asked' && fact.data.attempt === 1)
      for (const [runId, { callsSinceExceeded }] of listAccounts(fact.runId)) {
        if (!callsSinceExceeded) continue;
        const count = (callsSinceExceeded.get(fact.runId) ?? 0) + 1;
        callsSinceExceeded.set(fact.runId, count);
        if (count === 2)
          faults.push({ runId, what: `run ${fact.runId} started two model calls after the limit was exceeded (fact ${fact.seq})` });
      }
  }
  return faults;
}

function createAccount({ data }: FactOf<'run.created'>): Account {
  const { maxTokens, maxCostUsd } = data.grant.limits;
  return { tokens: { limit: maxTokens.value, spent: 0 }, cost: { limit: maxCostUsd.value, spent: 0 }, callsSinceExceeded: null };
}

function spend(account: Account, tokens: number, costUsd: number): void {
  account.tokens.spent += tokens;
  account.cost.spent += costUsd;
  const isExceeded = [account.tokens, account.cost].some(({ limit, spent }) => limit !== null && spent > limit + tolerance);
  if (isExceeded) account.callsSinceExceeded ??= new Map();
}
