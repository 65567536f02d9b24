// The flows of a workspace: files in `.retinue/flows`. They and their local imports need trust, because they run with the rights of the user.
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { type FlowGraph, readFlowGraph } from '../flows/import-graph.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import type { TrustItem, TrustState } from './settings.ts';
import { hashFile, readTrust, type TrustList } from './trust.ts';
import type { Env } from './user-folders.ts';

export interface FlowFile {
  /** The file's name without its extension. */
  name: string;
  file: string;
  state: TrustState | 'unreadable';
  /** Why it cannot be read. */
  problem: string | null;
}

const extensions = ['.ts', '.mts', '.js', '.mjs'];

function flowFolder(workspace: string): string {
  return join(workspace, '.retinue', 'flows');
}

/** Files directly in the folder, which have a name. */
function listFiles(workspace: string): string[] {
  return listFolder(flowFolder(workspace), false);
}

/** Sorted. A name that begins with `_` or `.` is not a flow, but may be imported by one. Folders that are links or begin so are not entered. */
function listFolder(folder: string, isRecursive: boolean): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (/^[._]|^node_modules$/.test(entry.name)) return [];
    if (entry.isDirectory()) return isRecursive ? listFolder(path, true) : [];
    return extensions.includes(extname(entry.name)) && !/\.(d|test)\.m?ts$/.test(entry.name) ? [path] : [];
  });
}

export function listFlowFiles(workspace: string, env: Env): FlowFile[] {
  const trust = readTrust(env);
  return listFiles(workspace).map((file) => {
    const name = basename(file, extname(file));
    try {
      return { name, file, state: graphState(readFlowGraph(file), trust), problem: null };
    } catch (error) {
      return { name, file, state: 'unreadable', problem: (error as Error).message };
    }
  });
}

/** The file of a flow that the user names: a name in `.retinue/flows`, or the path of a file. Throws `usage`. */
export function findFlowFile(given: string, { workspace, cwd }: { workspace: string; cwd: string }): string {
  if (extensions.includes(extname(given)) || given.includes(sep)) return resolve(cwd, given);
  const files = listFiles(workspace);
  const found = files.find((file) => basename(file, extname(file)) === given);
  if (found !== undefined) return found;
  const names = files.map((file) => basename(file, extname(file)));
  const advice = `flows are files in ${relative(cwd, flowFolder(workspace)) || '.'}; a path needs its extension`;
  throw new RetinueError('usage', `${unknownNameMessage('flow', given, names)}; ${advice}`);
}

/** The file of a flow of the workspace: never a path, because the name may come from another machine. Throws `usage`. */
export function findNamedFlow(name: string, workspace: string): string {
  const files = listFiles(workspace);
  const found = files.find((file) => basename(file, extname(file)) === name);
  if (found !== undefined) return found;
  const names = files.map((file) => basename(file, extname(file)));
  throw new RetinueError('usage', `${unknownNameMessage('flow', name, names)}; flows are files in .retinue/flows of the workspace`);
}

/** What `retinue trust` shows: every local file of every flow of the workspace, also of those in folders of `.retinue/flows`, which are run by path. */
export function flowTrustItems(workspace: string, trustList: TrustList): TrustItem[] {
  const items = new Map<string, TrustItem>();
  for (const flow of listFolder(flowFolder(workspace), true)) {
    let graph: FlowGraph;
    try {
      graph = readFlowGraph(flow);
    } catch {
      continue;
    }
    for (const [path, bytes] of graph.files) {
      const hash = hashFile(path, bytes);
      const what = `the program ${relative(workspace, path)} runs with your rights, outside of any sandbox`;
      items.set(path, { path, hash, state: trustList.state(path, hash), gives: [{ what, why: 'the flow cannot be run' }] });
    }
  }
  return [...items.values()];
}

/** Throws `usage` if the flow is one of the folder of the workspace and one of its files is not trusted. */
export function assertFlowTrusted(graph: FlowGraph, { workspace, env }: { workspace: string; env: Env }): void {
  // A file elsewhere was named by the user, who could run it with Node as well.
  if (!isInFlowFolder(graph, flowFolder(workspace))) return;
  const trust = readTrust(env);
  const state = graphState(graph, trust);
  if (state === 'trusted') return;
  if (!flowTrustItems(workspace, trust).some(({ path }) => path === graph.file))
    throw new RetinueError(
      'usage',
      `${graph.path} is not run: it is not trusted, and \`retinue trust\` does not offer it. It leaves out tests, names that begin with \`_\` or \`.\`, and folders that are links; rename the file or move it`,
    );
  const why = state === 'changed' ? 'it, or a file that it imports, has changed since you trusted it' : 'it is not trusted';
  throw new RetinueError('usage', `${graph.path} is not run: ${why}. Read it, then run \`retinue trust\``);
}

/** How a flow was found counts as well as where its file really is: the folder and what is in it may be links. */
function isInFlowFolder({ path, file }: FlowGraph, folder: string): boolean {
  const folders = existsSync(folder) ? [folder, realpathSync(folder)] : [folder];
  const paths = [path, join(realpathSync(dirname(path)), basename(path)), file];
  return folders.some((each) => paths.some((one) => one.startsWith(each + sep)));
}

function graphState({ files }: FlowGraph, trust: TrustList): TrustState {
  const states = [...files].map(([path, bytes]) => trust.state(path, hashFile(path, bytes)));
  return states.find((state) => state === 'changed') ?? states.find((state) => state === 'untrusted') ?? 'trusted';
}
