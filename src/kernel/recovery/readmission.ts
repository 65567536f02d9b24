// Admits recorded runs again, when a process resumes or takes over their tree.
import type { Agent } from '../../contract/agent.ts';
import type { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Catalog } from '../../ports/catalog.ts';
import type { Admission, AdmissionDeps, AdmissionDialect } from '../admission/admission.ts';
import { collectTools } from '../admission/admitted-tools.ts';
import { fillAgent } from '../admission/agent-parameters.ts';
import { createOwnLoginModel, withExternalTools } from '../external/admission.ts';
import type { Services } from '../services.ts';
import type { RunState } from '../state/state.ts';
import { loadPinnedAgent, withoutUntrustedServers } from './pinned-agent.ts';

/** Admits a recorded run again, with the rights and limits of its facts. Rejects if its model is not available. */
export async function readmitRun(
  state: RunState,
  dialect: AdmissionDialect,
  deps: AdmissionDeps & Pick<Services, 'store'>,
): Promise<Admission> {
  const created = state.created.data;
  const { brief, grant, kind, agent: name, model, rootId } = created;
  const { runId } = state;
  // Its rights were granted for one folder, and the facts may have come from elsewhere.
  if (!deps.checkouts?.placesRoots && grant.workspace !== deps.settings.workspace)
    throw new RetinueError('usage', `run ${runId} belongs to the workspace ${grant.workspace}: resume it there (-C)`);
  if (kind !== 'agent' || name === null || model === null) return { created, work: null, blobs: [] };
  const pinned = await loadPinnedAgent({ runId, data: created }, deps.store);
  const today = findToday(name, brief, dialect.catalog);
  const agent = pinned ? withoutUntrustedServers(pinned, today) : (today ?? { name, description: '', prompt: '', source: 'facts' });
  const listed = created.models ?? (brief.model === undefined && Array.isArray(agent.model) ? agent.model : []);
  const current = state.fallback?.model ?? model;
  const requester = { runId, rootId, workspace: grant.workspace, agent: name, label: brief.label ?? null, task: brief.task };
  const handle = createOwnLoginModel(agent, created.external) ?? (await deps.models.resolve(current, requester));
  const check = brief.result?.schema ? await deps.compileSchema(brief.result.schema) : null;
  const { tools: found } = await collectTools(brief, agent, dialect, deps);
  const tools = created.external ? withExternalTools(found) : found;
  return { created, work: { agent, model: handle, fallbacks: listed.slice(listed.indexOf(current) + 1), tools, check }, blobs: [] };
}

/** Today's definition with the values of the brief; null if there is none that fits them. */
function findToday(name: string, { params }: Brief, catalog: Catalog): Agent | null {
  const agent = catalog.get(name);
  try {
    return agent && fillAgent(agent, { task: name, ...(params && { params }) }).agent;
  } catch {
    return null;
  }
}
