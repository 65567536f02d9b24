// The local files that a flow consists of: its file and everything that it imports from files, read once and hashed together. What a package name leads
// to is local too, unless it is below a `node_modules` folder.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { findPackageJSON, isBuiltin } from 'node:module';
import { dirname, extname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RetinueError } from '../contract/error.ts';
import { sha256 } from '../text/canonical.ts';
import { resolveAsNode } from './node-resolve.ts';

const maxFiles = 500;
const maxFileBytes = 4_194_304;

/** How Node reads a file, by its extension. */
export const formats: Record<string, 'module' | 'module-typescript' | 'json'> = {
  '.ts': 'module-typescript',
  '.mts': 'module-typescript',
  '.js': 'module',
  '.mjs': 'module',
  '.json': 'json',
};

export interface FlowGraph {
  /** The path by which the flow was found: absolute, with its links. */
  path: string;
  /** The real path of the flow's file. */
  file: string;
  /** Hash of all files and of the versions of packages. */
  version: string;
  /** By real path. Exactly these bytes are executed. */
  files: Map<string, Uint8Array>;
}

/** Reads a flow's file and its local imports. Nothing is executed. Rejects with `usage` if the file cannot be read or has another type. */
export function readFlowGraph(given: string): FlowGraph {
  const path = resolve(given);
  const file = findFile(path);
  if (file === null) throw new RetinueError('usage', `there is no flow ${path}`);
  if (!isCode(file)) throw new RetinueError('usage', `${path} is not a flow: its name must end in .ts, .mts, .js or .mjs`);
  const files = new Map<string, Uint8Array>();
  const packages = new Map<string, string>();
  const open = [file];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (files.has(next)) continue;
    if (files.size === maxFiles) throw new RetinueError('usage', `${path} imports more than ${maxFiles} files`);
    const bytes = readCode(next);
    files.set(next, bytes);
    if (!isCode(next)) continue;
    for (const specifier of findSpecifiers(new TextDecoder().decode(bytes))) {
      if (isBuiltin(specifier) || isOwnPackage(specifier)) continue;
      const found = resolveImport(specifier, next);
      if (found === null) continue;
      if (!isPathImport(specifier) && !isLocal(found)) addPackage(packages, specifier, { parent: next, file: found });
      else if (extname(found) in formats) open.push(found);
    }
  }
  const root = dirname(file);
  const parts = [...files].map(([name, bytes]) => `${relativeTo(root, name)} ${sha256(bytes)}`);
  return { path, file, files, version: sha256([...parts, ...packages.values()].sort().join('\n')) };
}

/** True for an import of a path, false for one of a package or a name of `imports` in package.json. */
export function isPathImport(specifier: string): boolean {
  return /^(\.\.?\/|\/|file:)/.test(specifier);
}

/** The real path of the file that an import leads to; null if there is none. */
export function resolveImport(specifier: string, parent: string): string | null {
  if (!isPathImport(specifier)) {
    const found = resolveAsNode(specifier, parent);
    return found === null ? null : findFile(found);
  }
  return findFile(specifier.startsWith('file:') ? fileURLToPath(specifier) : resolve(dirname(parent), specifier));
}

/** Of the real path of an import by package name: false for installed packages, true for the package of the flow itself and linked workspaces. */
export function isLocal(file: string): boolean {
  return !file.includes('/node_modules/');
}

/** Text that only looks like an import adds a file to the graph, which does no harm; an import that is not found here is refused when it is loaded. */
function findSpecifiers(source: string): Set<string> {
  return new Set([...source.matchAll(/\b(?:from|import)\s*\(?\s*(['"`])([^'"`\n]+)\1/g)].map(([, , specifier]) => specifier as string));
}

/** A package counts with its package.json: its name and version. */
function addPackage(packages: Map<string, string>, specifier: string, { parent, file }: { parent: string; file: string }): void {
  const from = specifier.startsWith('#') ? pathToFileURL(file) : specifier;
  const path = findPackageJSON(from, pathToFileURL(parent));
  if (path !== undefined) packages.set(path, `${specifier} ${sha256(readFileSync(path))}`);
}

/** `retinue` is this program, whatever version it has. */
export function isOwnPackage(specifier: string): boolean {
  return specifier === 'retinue' || specifier === 'retinue/flow' || specifier === 'retinue/testing';
}

function isCode(file: string): boolean {
  return formats[extname(file)]?.startsWith('module') ?? false;
}

function findFile(path: string): string | null {
  try {
    const real = realpathSync(path);
    return statSync(real).isFile() ? real : null;
  } catch {
    return null;
  }
}

function readCode(file: string): Uint8Array {
  const bytes = readFileSync(file);
  if (bytes.length > maxFileBytes) throw new RetinueError('usage', `${file} is larger than ${maxFileBytes} bytes`);
  return bytes;
}

/** So that a moved folder has the same version. */
function relativeTo(root: string, file: string): string {
  return file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file;
}
