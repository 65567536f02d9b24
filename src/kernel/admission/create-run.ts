// Creating runs: a brief becomes a run of this process, once. One path for roots, children and clients; `registerRun` also serves resumed runs.
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Draft } from '../../contract/fact.ts';
import { parseTraceContext } from '../../contract/trace-context.ts';
import type { ProgramCheck } from '../../ports/schema.ts';
import { createPace } from '../../scheduling/pace.ts';
import type { DialectServices } from '../delegation/dialect-services.ts';
import { type ClientClose, clientStartedData, createClientDriver } from '../drivers.ts';
import { admitFlow, createFlowStartedData, type FlowStart } from '../flow/admission.ts';
import { driveFlow } from '../flow/driver.ts';
import type { RunDrafts } from '../journal.ts';
import { driveRun } from '../lifecycle.ts';
import { checkContinuable, loadRecordedRules } from '../recovery/history.ts';
import { countRun, createCounter, Run, type RunOptions } from '../run.ts';
import type { Services, StartOptions } from '../services.ts';
import { startDriver } from '../start-driver.ts';
import { type Admission, admitBrief, assertChildAllowed } from './admission.ts';
import { admitClient, type ClientRunOptions } from './client.ts';
import { addImages } from './images.ts';
import { assertSameBrief, findKeyedRun } from './keyed-run.ts';
import { assertNames, parseBrief, redactBrief } from './parse-brief.ts';

/** Runs that are admitted in one turn of the event loop. They share a commit. */
const admissionsPerTurn = 8;

/** Admits briefs and starts their runs. `isOpen` turns false when the process takes no new work. */
export function createRunStarter(services: Services, isOpen: () => boolean): Services['startRun'] {
  const { store, journal, runs, redact, scheduler, ids, clock } = services;
  const pace = createPace(clock, admissionsPerTurn);
  /** Briefs with an idempotency key that are being started: the same key gets the same run. */
  const starting = new Map<string, { brief: Brief; started: Promise<Run> }>();

  async function startRun(input: unknown, options: StartOptions = {}): Promise<Run> {
    const { parent = null } = options;
    const brief = redactBrief(parseBrief(input), redact);
    if (!parent) assertNames(brief);
    if (brief.idempotencyKey === undefined) return begin(brief, options);
    const key = JSON.stringify([parent?.id ?? null, brief.idempotencyKey]);
    const other = starting.get(key);
    if (other) assertSameBrief(brief, other.brief);
    const started = other?.started ?? begin(brief, options).finally(() => starting.delete(key));
    starting.set(key, { brief, started });
    return started;
  }

  async function begin(
    brief: Brief,
    { parent = null, call = null, review, rootModel, check, dialect: name, trace, images }: StartOptions,
  ): Promise<Run> {
    const turn = pace.pass();
    if (turn) await turn;
    const known = await findByKey(brief, parent);
    if (known) return known;
    await checkContinuable(brief, store);
    const recordedRules = brief.rules === undefined ? [] : await loadRecordedRules(brief, store);
    const dialect = parent?.dialect ?? (await services.dialect(name));
    assertOpen(parent, review);
    if (!scheduler.hasQueueCapacity())
      throw new RetinueError('queue_full', 'too many runs are waiting for a slot; wait for some to end', { retryable: true });
    // The author of the brief asked for the review, so the limits of the run on delegations do not apply to it.
    if (parent && !review) assertChildAllowed(parent);
    const counter = createCounter(null, parent);
    // Counted in the same tick as the check, so that briefs admitted at the same time cannot exceed a limit together.
    countRun({ counter }, 1);
    if (parent) parent.admittingCount++;
    try {
      const runId = ids.runId();
      const at = call && { index: call.index, turn: call.turn };
      const admission = await admitBrief(
        brief,
        { runId, dialect, parent, call: at, rootModel, trace: parseTraceContext(trace), recordedRules },
        services,
      ).finally(() => {
        if (parent) parent.admittingCount--;
      });
      assertOpen(parent, review);
      const run = await recordRun(
        { runId, dialect, parent, n: call?.n ?? 0, review },
        addImages(addProgramCheck(admission, check), images),
        services,
      );
      if (!parent?.work) run.counter.runs = counter.runs;
      startDriver(run, services);
      return run;
    } catch (error) {
      countRun({ counter }, -1);
      // If another process was first with the same key, that is the error to report.
      return (await findByKey(brief, parent)) ?? Promise.reject(error);
    }
  }

  /** A run that says it is done accepts no more children except reviews. */
  function assertOpen(parent: Run | null, review?: StartOptions['review']): void {
    if (!isOpen() || (parent?.isClosing && !review) || parent?.signal.aborted)
      throw new RetinueError('parent_ended', 'nothing more can be delegated: the run is ending');
  }

  /** A run that was already created with this key under this parent. */
  async function findByKey(brief: Brief, parent: Run | null): Promise<Run | null> {
    if (brief.idempotencyKey === undefined) return null;
    await journal.flushed();
    const row = await findKeyedRun(brief, parent?.id ?? null, services);
    if (!row) return null;
    const live = runs.get(row.runId);
    if (live) return live;
    throw new RetinueError(
      'key_conflict',
      `idempotencyKey: run ${row.runId} was already created with this key; use its result, or choose another key`,
    );
  }

  return startRun;
}

/** Opens a client: a root run without a model. `closed` resolves when it closes or goes away. */
export async function openClient(
  { options, dialect, closed }: { options: ClientRunOptions; dialect: DialectServices; closed: Promise<ClientClose> },
  services: Services,
): Promise<Run> {
  const runId = services.ids.runId();
  const admission = admitClient(runId, { options, dialect }, services);
  const run = await recordRun(
    { runId, dialect, parent: null, n: 0, more: [{ type: 'run.started', data: clientStartedData }] },
    admission,
    services,
  );
  void driveRun(run, createClientDriver(closed), services);
  return run;
}

/** Starts a flow: a root run whose steps its program decides. */
export async function startFlow(flow: FlowStart, services: Services): Promise<Run> {
  const { dialect } = flow;
  const runId = services.ids.runId();
  const admission = admitFlow(runId, flow, services);
  const started: Draft = { type: 'run.started', data: createFlowStartedData(admission.created, clientStartedData, services.clock.now()) };
  const run = await recordRun({ runId, dialect, parent: null, n: 0, more: [started] }, admission, services);
  void driveRun(run, driveFlow, services);
  return run;
}

/** Makes the program's own check part of the admission: it runs after the schema. */
function addProgramCheck(admission: Admission, check: ProgramCheck | undefined): Admission {
  const { work } = admission;
  if (!work || !check) return admission;
  return { ...admission, work: { ...work, check: async (value) => (await work.check?.(value)) ?? check(value) } };
}

interface NewRun {
  runId: string;
  dialect: DialectServices;
  parent: Run | null;
  /** Its index among the briefs of the delegating call. */
  n: number;
  review?: StartOptions['review'];
  /** Recorded after `run.created`. */
  more?: Draft[];
}

/** Records {run.created, the parent's child.created} in one transaction and waits until they are durable (invariant 2). */
async function recordRun({ runId, dialect, parent, n, review, more = [] }: NewRun, admission: Admission, services: Services): Promise<Run> {
  const { journal } = services;
  const { created, work, program = null, blobs } = admission;
  const parts: RunDrafts[] = [{ runId, drafts: [{ type: 'run.created', data: created }, ...more] }];
  if (parent) {
    const { agent, brief, parentCall: call } = created;
    const { label = null, background = false, continues } = brief;
    const drafts = (): Draft[] => {
      const { hash } = journal.state(runId);
      const earlier = continues === undefined ? {} : { continues };
      const data = { agent, background, call, ...(review && { check: review }), childId: runId, ...earlier, hash, label, n };
      return [{ type: 'child.created', data }];
    };
    parts.push({ runId: parent.id, drafts });
  }
  const durable = journal.record(created.rootId, parts, { blobs });
  const state = journal.find(runId);
  // A lost tree rejects without having recorded anything.
  if (!state) throw await durable.catch((error: unknown) => error);
  const run = registerRun({ state, parent, dialect, work, program }, services);
  try {
    await durable;
    return run;
  } catch (error) {
    unregisterRun(run, error, services);
    throw error;
  }
}

/** Makes a run of this process from its state. */
export function registerRun(options: RunOptions, services: Services): Run {
  const run = new Run(options, services);
  services.runs.set(run.id, run);
  options.parent?.children.add(run);
  return run;
}

/** Takes back a run whose facts could not be written: nothing of it was done. */
export function unregisterRun(run: Run, error: unknown, { runs, journal }: Services): void {
  runs.delete(run.id);
  journal.forget(run.id);
  run.parent?.children.delete(run);
  run.detachFromParent();
  run.settle.reject(error);
}
