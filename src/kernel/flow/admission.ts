// How a flow becomes a run, and how a recorded one finds its program again.
import type { Effort } from '../../contract/effort.ts';
import { RetinueError } from '../../contract/error.ts';
import type { FactData } from '../../contract/fact.ts';
import type { Json } from '../../contract/json.ts';
import type { FlowProgram } from '../../ports/flow.ts';
import { msToIso } from '../../text/instant.ts';
import { isValueDeeperThan, maxValueDepth } from '../../text/json-depth.ts';
import type { Admission } from '../admission/admission.ts';
import { admitClient, type ClientRunOptions } from '../admission/client.ts';
import { settingsToModels } from '../admission/model-routes.ts';
import type { DialectServices } from '../delegation/dialect-services.ts';
import type { Services } from '../services.ts';
import type { RunState } from '../state/state.ts';
import { redactJson } from '../tool-calls/original-arguments.ts';

export interface FlowOptions extends Pick<ClientRunOptions, 'label' | 'limits' | 'budgets' | 'trace'> {
  /** How much the models of its children think, unless a brief or an agent decides it. */
  effort?: Effort;
}

/** A flow that is started, with the dialect of its tree. */
export interface FlowStart {
  program: FlowProgram;
  input: Json;
  options: FlowOptions;
  dialect: DialectServices;
}

/** Like a client, a flow has only the limits set for it, and passes them on. Throws `invalid_brief` for a wrong input. */
export function admitFlow(runId: string, { program, input, options, dialect }: FlowStart, services: Services): Admission {
  const { name, file, version } = program;
  if (isValueDeeperThan(input, maxValueDepth))
    throw new RetinueError(
      'invalid_brief',
      `the input of the flow is nested deeper than ${maxValueDepth} levels; make it flatter, or write it to a file and pass the path`,
    );
  const recorded = redactJson(input, services.redact);
  program.checkInput(recorded);
  const admission = admitClient(runId, { options: { ...options, label: options.label ?? name }, dialect }, services);
  const { brief } = admission.created;
  const models = settingsToModels(services.settings);
  const created: FactData['run.created'] = {
    ...admission.created,
    brief: { ...brief, task: `flow ${name}` },
    ...(options.effort !== undefined && { effort: options.effort }),
    flow: { file, input: recorded, ...(models && { models }), name, version },
    kind: 'flow',
  };
  return { ...admission, created, program };
}

/** Recorded with `run.created`. Unlike a client, a flow has the time limit that was set, as a deadline. */
export function createFlowStartedData(
  { grant }: FactData['run.created'],
  started: FactData['run.started'],
  now: number,
): FactData['run.started'] {
  const { value } = grant.limits.timeoutMs;
  return { ...started, deadline: value === null ? null : msToIso(now + value) };
}

/** Null for runs that are not flows. Rejects with `flow_changed` if the program is not the recorded one. */
export async function loadProgram({ runId, created }: RunState, { flows }: Services): Promise<FlowProgram | null> {
  const { kind, flow } = created.data;
  if (kind !== 'flow' || !flow) return null;
  if (!flows) throw new RetinueError('usage', `run ${runId} is a flow, and this process has no flows`);
  const { name, file, version } = flow;
  return flows.load({ name, file, version });
}
