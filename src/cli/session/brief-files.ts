// The files of a new run: those of --file, and standard input that is too long for a task.
import type { BriefFile } from '../../config/attachments.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { Io } from '../io.ts';

/** Starts a run with the files of --file and with long standard input, and tells the user what the first message does not contain. */
export async function withFiles<T>(
  io: Io,
  { workspace, paths, input }: { workspace: string; paths: string[]; input: string | null },
  start: (files: BriefFile[]) => Promise<{ started: T; id: string }>,
): Promise<T> {
  const files: BriefFile[] = [];
  let owner: string | null = null;
  try {
    for (const path of paths) files.push(await io.files.prepare(workspace, path));
    if (input !== null) files.push(await io.files.attach(workspace, 'standard-input.txt', input));
    for (const { notice } of files) if (notice !== null) io.err(`retinue: ${sanitizeLine(notice)}\n`);
    const { started, id } = await start(files);
    owner = id;
    return started;
  } finally {
    await io.files.claim(workspace, files, owner);
  }
}
