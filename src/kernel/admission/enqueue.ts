// Puts a brief into a queue: it is admitted here, and a worker drives it. The tree has no owner until then.
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import { parseTraceContext, type TraceHeaders } from '../../contract/trace-context.ts';
import type { JobOptions } from '../../ports/queue.ts';
import { checkContinuable, loadRecordedRules } from '../recovery/history.ts';
import type { Services } from '../services.ts';
import { admitBrief } from './admission.ts';
import { findKeyedRun } from './keyed-run.ts';
import { assertNames, parseBrief, redactBrief } from './parse-brief.ts';

export interface EnqueueOptions {
  job: JobOptions;
  /** The dialect of the tree; the runtime's own if absent. */
  dialect?: string | undefined;
  /** A brief that says nothing about its files is about those of this process's workspace; a worker has to share them. */
  usesWorkspace?: boolean;
  /** The brief comes from a model or an MCP client, which may not choose any model. */
  isFromModel?: boolean;
  /** The trace of the caller. Malformed values are ignored. */
  trace?: TraceHeaders | undefined;
}

/** `isNew`: false if the brief's idempotency key had been used before; then `runId` is the run that has it. */
export interface EnqueueResult {
  runId: string;
  isNew: boolean;
}

/** Records {run.created, its job} in one transaction. Rejects with the refusal if the brief is not admitted, and with `usage` without a queue. */
export async function enqueueRun(
  input: unknown,
  { job, dialect: name, isFromModel = false, usesWorkspace = false, trace }: EnqueueOptions,
  services: Services,
): Promise<EnqueueResult> {
  const { store, journal, ids, redact } = services;
  if (!store.queue) throw new RetinueError('usage', 'this database has no queue; use a PostgreSQL database');
  const parsed = redactBrief(parseBrief(input), redact);
  const brief = usesWorkspace ? nameFiles(parsed, services.settings.workspace) : parsed;
  if (!isFromModel) assertNames(brief);
  const known = await findByKey(brief, services);
  if (known) return known;
  await checkContinuable(brief, store);
  const recordedRules = brief.rules === undefined ? [] : await loadRecordedRules(brief, store);
  const dialect = await services.dialect(name);
  const runId = ids.runId();
  const { created, blobs } = await admitBrief(
    brief,
    {
      runId,
      dialect,
      parent: null,
      call: null,
      rootModel: isFromModel ? services.settings.model : undefined,
      trace: parseTraceContext(trace),
      isQueued: true,
      recordedRules,
    },
    services,
  );
  try {
    await journal.record(runId, [{ runId, drafts: [{ type: 'run.created', data: created }] }], { blobs, job });
    return { runId, isNew: true };
  } catch (error) {
    // Another process may have been first with the same key.
    return (await findByKey(brief, services)) ?? Promise.reject(error);
  } finally {
    journal.forget(runId);
  }
}

/** A run without tools needs no files. */
function nameFiles(brief: Brief, workspace: string): Brief {
  const isNamed = brief.repository !== undefined || brief.workspace !== undefined || brief.tools?.allow?.length === 0;
  return isNamed ? brief : { ...brief, workspace };
}

async function findByKey(brief: Brief, services: Services): Promise<EnqueueResult | null> {
  const row = await findKeyedRun(brief, null, services);
  return row && { runId: row.runId, isNew: false };
}
