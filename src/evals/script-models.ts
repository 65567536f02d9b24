// Scripts that an eval file names as models: like all its paths, they are relative to the file.
import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { Check } from '../contract/check.ts';

export interface ScriptFolders {
  /** The folder of the eval file. */
  folder: string;
  /** The workspace, from which runs find a script. */
  workspace: string;
}

/** The model as a run finds it: a script below the workspace keeps a short name, so that evals of a moved workspace can be compared. */
export function resolveModel(model: string, { folder, workspace }: ScriptFolders): string {
  const script = /^script\/([^/].*)$/.exec(model)?.[1];
  if (script === undefined) return model;
  const file = resolve(folder, script);
  const inside = relative(workspace, file);
  return `script/${inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? file : inside}`;
}

/** The checks with the models of their reviewers as runs find them. */
export function resolveCheckModels(checks: Check[], folders: ScriptFolders): Check[] {
  return checks.map((check) =>
    'agent' in check && check.model !== undefined ? { ...check, model: resolveModel(check.model, folders) } : check,
  );
}
