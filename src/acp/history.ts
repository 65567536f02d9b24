// The trees of a session, found by the idempotency keys of their roots: `acp:SESSION:N` is the N-th prompt.
import type { Api, RunView } from '../api/api.ts';
import type { Fact, StoredFact } from '../contract/fact.ts';
import { sanitizeLine } from '../text/terminal.ts';
import { type Mode, modeOfBrief } from './modes.ts';
import type { SessionInfo } from './protocol.ts';

const keyPrefix = 'acp:';
const idPattern = /^[0-9a-f]{32}$/;
const maxTitleChars = 80;

export function promptKey(sessionId: string, n: number): string {
  return `${keyPrefix}${sessionId}:${n}`;
}

export interface SessionHistory {
  runs: RunView[];
  mode: Mode;
  /** The model that was chosen for the last prompt; null: the configured one. */
  model: string | null;
  workspace: string;
}

/** Null if there is no such session. */
export async function findSession(api: Api, sessionId: string): Promise<SessionHistory | null> {
  if (!idPattern.test(sessionId)) return null;
  const runs: RunView[] = [];
  for (let n = 1; ; n++) {
    const run = await api.keyed(promptKey(sessionId, n));
    if (run === null) break;
    runs.push(run);
  }
  const last = runs.at(-1);
  if (last === undefined) return null;
  const { brief, grant } = await api.show(last.runId);
  return { runs, mode: modeOfBrief(brief ?? {}), model: brief?.model ?? null, workspace: grant?.workspace ?? '' };
}

/** All facts of a tree, in the order of the store. */
export async function loadTreeFacts(api: Api, rootId: string): Promise<Fact[]> {
  const facts = await api.logs(rootId, { tree: true });
  return facts.filter((fact): fact is StoredFact => 'data' in fact);
}

export interface SessionPage {
  sessions: SessionInfo[];
  /** Where the next page begins; null at the end. */
  next: string | null;
}

/** One entry for each session, by its newest prompt. `workspace`: only sessions of this folder. */
export async function listSessions(
  api: Api,
  { workspace, before, limit }: { workspace: string | null; before?: string; limit: number },
): Promise<SessionPage> {
  const { roots, next } = await api.keyedRoots({ prefix: keyPrefix, limit, ...(before === undefined ? {} : { before }) });
  const entries = await Promise.all(roots.map(({ key, run }) => describeSession(api, key, run)));
  return { sessions: entries.flatMap((entry) => (entry && (workspace === null || entry.cwd === workspace) ? [entry] : [])), next };
}

/** Null for a prompt that is not the newest of its session. */
async function describeSession(api: Api, key: string, run: RunView): Promise<SessionInfo | null> {
  const [, sessionId = '', n = ''] = /^acp:([0-9a-f]{32}):(\d{1,9})$/.exec(key) ?? [];
  if (sessionId === '' || (await api.keyed(promptKey(sessionId, Number(n) + 1))) !== null) return null;
  const [first, { grant }] = await Promise.all([api.keyed(promptKey(sessionId, 1)), api.show(run.runId)]);
  const updatedAt = run.endedAt ?? run.startedAt;
  if (grant === null || updatedAt === null) return null;
  return { sessionId, cwd: grant.workspace, title: createTitle(first?.task ?? ''), updatedAt };
}

export function createTitle(task: string): string {
  const line = sanitizeLine(task.trim().split('\n', 1)[0] as string);
  return line.length > maxTitleChars ? `${line.slice(0, maxTitleChars - 1).toWellFormed()}…` : line || 'untitled';
}
