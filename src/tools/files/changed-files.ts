// Which files of the workspace a command has created, changed or deleted: compares what is on the disk before and after it. Bounded: in a large
// workspace only the files nearest to its top are compared. Other programs that change files at the same time cannot be told apart.
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Artifact } from '../../contract/artifact.ts';
import { isClosed } from './paths.ts';

const maxFiles = 5000;
const maxFolders = 2000;
const maxArtifacts = 100;
/** Large folders that programs manage themselves. */
const skipped = ['.git', '.hg', '.jj', 'node_modules'];

interface Snapshot {
  files: Map<string, { bytes: number; version: string }>;
  isComplete: boolean;
}

/** Call it before the command. The returned function, called after it, lists the differences as artifacts, sorted by path. */
export function watchFiles(workspace: string): () => Artifact[] {
  const before = takeSnapshot(workspace);
  return () => {
    const after = takeSnapshot(workspace);
    const found: Artifact[] = [];
    for (const [path, { bytes, version }] of after.files) {
      const earlier = before.files.get(path);
      if (earlier?.version === version) continue;
      // A file that the first snapshot did not reach may be an old one.
      if (earlier === undefined && !before.isComplete) continue;
      found.push({ kind: 'path', value: path, title: earlier === undefined ? 'created' : 'changed', bytes });
    }
    if (after.isComplete) {
      for (const path of before.files.keys())
        if (!after.files.has(path)) found.push({ kind: 'path', value: path, title: 'deleted', bytes: 0 });
    }
    return limitArtifacts(found.sort((a, b) => (a.value < b.value ? -1 : 1)));
  };
}

function limitArtifacts(artifacts: Artifact[]): Artifact[] {
  if (artifacts.length <= maxArtifacts) return artifacts;
  const value = `${artifacts.length - maxArtifacts} more files were changed`;
  return [...artifacts.slice(0, maxArtifacts), { kind: 'note', value, bytes: Buffer.byteLength(value) }];
}

/** Breadth first. Links are not followed; what cannot be read is left out. */
function takeSnapshot(workspace: string): Snapshot {
  const files: Snapshot['files'] = new Map();
  const folders = [''];
  for (let n = 0; n < folders.length; n++) {
    const folder = folders[n] as string;
    for (const entry of readEntries(join(workspace, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (isClosed(entry.name) || skipped.includes(entry.name)) continue;
      if (entry.isDirectory()) {
        if (folders.length < maxFolders) folders.push(path);
        else return { files, isComplete: false };
      } else if (entry.isFile()) {
        if (files.size >= maxFiles) return { files, isComplete: false };
        const stats = lstatSync(join(workspace, path), { throwIfNoEntry: false });
        if (stats) files.set(path, { bytes: stats.size, version: `${stats.size} ${stats.mtimeMs} ${stats.ino} ${stats.mode & 0o111}` });
      }
    }
  }
  return { files, isComplete: true };
}

function readEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
