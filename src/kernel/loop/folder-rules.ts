// Rules of nested folders: the AGENTS.md of a folder counts for work in it. A run reads it with the result of the first call that touches a file there.
// What was shown is remembered in the facts of the run, so it is shown once, also after a resume.
import type { Memo, ToolResult } from '../../ports/tool.ts';
import type { ModelWork, Run } from '../run.ts';
import type { Services } from '../services.ts';
import { createPromptRun } from './prompt-run.ts';

/** Adds the rules of the folders of `path`, which is relative to the workspace, to the result of a call. */
export async function addFolderRules(
  run: Run,
  { path, result, memo }: { path: string; result: ToolResult; memo: Memo },
  services: Services,
): Promise<ToolResult> {
  if ((run.work as ModelWork).agent.workspaceRules === false) return result;
  const parts: string[] = [];
  for (const folder of listFoldersAbove(path)) {
    const key = `rules:${folder}`;
    if (memo.get(key) !== undefined || run.foldersSeen.has(folder)) continue;
    run.foldersSeen.add(folder);
    const rules = await run.dialect.prompts.folderRules(folder, createPromptRun(run, services));
    if (rules === null) continue;
    memo.set(key, rules.name);
    parts.push(`[Rules for files in ${folder} (from its ${rules.name}):]\n${rules.text}`);
  }
  if (parts.length === 0) return result;
  return { ...result, output: [result.output, ...parts].join('\n\n'), taint: [...(result.taint ?? []), 'untrusted-file'] };
}

/** The folders that contain a path, outermost first, without the workspace itself. */
function listFoldersAbove(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
