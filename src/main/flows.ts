// Flows in files, for the command line and everything else that resumes trees of a workspace.
import { join } from 'node:path';
import type { Api, RunHandle } from '../api/api.ts';
import { assertFlowTrusted } from '../config/flow-files.ts';
import type { Env } from '../config/user-folders.ts';
import { RetinueError } from '../contract/error.ts';
import { type EvalInput, evalFlowName } from '../contract/eval.ts';
import type { Json } from '../contract/json.ts';
import { createEvalProgram } from '../evals/flow.ts';
import type { ReadLog } from '../evals/idle-time.ts';
import { createFileFlows, type FileFlows } from '../flows/file-source.ts';
import type { FlowOptions } from '../kernel/runtime.ts';
import { findPackageRoot } from './package-root.ts';

/** `api`: of the process that drives the flows. */
export function openFlows(workspace: string, env: Env, api: Pick<Api, 'logs'>): FileFlows {
  const files = createFileFlows({ ownModule, assertTrusted: (graph) => assertFlowTrusted(graph, { workspace, env }) });
  return {
    ...files,
    async load(ref) {
      if (ref.file !== null || ref.name !== evalFlowName) return files.load(ref);
      const program = await createEvalProgram(logReader(api));
      if (program.version === ref.version) return program;
      throw new RetinueError('flow_changed', 'this eval was begun by another version of Retinue; start it again with `--new`');
    },
  };
}

/** Starts the flow of an eval. */
export async function startEval(api: Api, input: EvalInput, options: FlowOptions): Promise<RunHandle> {
  return api.flow(await createEvalProgram(logReader(api)), input as unknown as Json, options);
}

function logReader(api: Pick<Api, 'logs'>): ReadLog {
  return async (runId) => (await api.logs(runId)).filter((fact) => 'data' in fact);
}

/** `retinue`, `retinue/flow` and `retinue/testing` as this program has them: built, or as source in a checkout. */
function ownModule(specifier: string): string {
  const name = specifier === 'retinue' ? 'index' : specifier.slice('retinue/'.length);
  const isSource = import.meta.url.endsWith('.ts');
  return join(findPackageRoot(), ...(isSource ? ['src', 'main', `${name}.ts`] : ['dist', `${name}.js`]));
}
