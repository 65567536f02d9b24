// Why a path would be refused whatever the rules say, for `retinue policy test`.
import { locatePath } from './confine.ts';
import { locateWriteTarget } from './replace-file.ts';

export async function previewRead(path: string, workspace: string): Promise<string | null> {
  const located = await locatePath(workspace, path);
  return located.ok ? null : located.reason;
}

export async function previewWrite(path: string, workspace: string): Promise<string | null> {
  const located = await locateWriteTarget(workspace, path);
  return located.ok ? null : located.reason;
}
