// Where in the source of a flow an error comes from. Node removes types without moving code, so lines and columns are those of the file.
import { spawnSync } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import { prefixLength } from './import-meta.ts';
import { fromVirtualPath, virtualRoot } from './virtual-path.ts';

const maxCheckMs = 10_000;

/** The first frame of an error's stack that is in a file of a flow, as `/path/review.ts:12:5`. */
export function findFrame(error: unknown): string | null {
  const frames = new RegExp(`^ +at .*?((?:file://)?${virtualRoot}[^\\n]+):(\\d+):(\\d+)\\)?$`, 'm');
  const frame = frames.exec(stackOf(error));
  return frame && formatPosition(frame[1] as string, frame[2] as string, Number(frame[3]));
}

/** What Node puts before the stack of a syntax error: file and line, lines of the source, and marks below the place. */
export function findSyntaxPosition(error: unknown): string | null {
  const [first = '', ...lines] = stackOf(error).split('\n');
  const header = /^(.+):(\d+)$/.exec(first);
  if (!header) return null;
  const marks = lines.find((line) => /^\s*\^+\s*$/.test(line));
  return formatPosition(header[1] as string, header[2] as string, (marks?.indexOf('^') ?? -1) + 1);
}

/**
 * Where the syntax of a file is wrong, for errors that do not say it: those of V8 in an imported module. Only a process that ends with such an error
 * prints the place, so another one compiles the file, without executing it. The file alone if that finds nothing.
 */
export function locateSyntaxError(file: string, source: Uint8Array): string {
  const strip = /\.m?ts$/.test(file);
  const program = `
    const source = require('node:fs').readFileSync(0, 'utf8');
    new (require('node:vm').SourceTextModule)(${strip ? "require('node:module').stripTypeScriptTypes(source)" : 'source'}, { identifier: 'source' });`;
  const { stderr } = spawnSync(process.execPath, ['--no-warnings', '--experimental-vm-modules', '--eval', program], {
    input: source,
    encoding: 'utf8',
    env: {},
    timeout: maxCheckMs,
  });
  const position = findSyntaxPosition({ stack: stderr ?? '' });
  return `${file}${position?.startsWith('source:') ? position.slice('source'.length) : ''}`;
}

/** Where a file imports what another one does not export. The error of V8 has only the two names. */
export function locateMissingExport(message: string, files: ReadonlyMap<string, Uint8Array>): string | null {
  const names = /requested module '(.+)' does not provide an export named '(.+)'/.exec(message);
  if (!names) return null;
  const [specifier, name] = names.slice(1).map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')) as [string, string];
  const clause = name === 'default' ? '[\\w$]' : `(?<![\\w$])${name}(?![\\w$])`;
  const statement = new RegExp(`\\b(?:import|export)\\b[^'"\`;]*${clause}[^'"\`;]*\\bfrom\\s*(['"])${specifier}\\1`);
  for (const [file, bytes] of files) {
    const source = new TextDecoder().decode(bytes);
    const found = statement.exec(source);
    if (found) return `${file}:${lineAt(source, found.index)}`;
  }
  return null;
}

/** Where a file has a text in quotes. The file alone if it is not there. */
export function locateText(text: string, file: string, bytes: Uint8Array | undefined): string {
  const source = new TextDecoder().decode(bytes);
  const index = Math.max(...['"', "'", '`'].map((quote) => source.indexOf(quote + text + quote)));
  return index === -1 ? file : `${file}:${lineAt(source, index)}`;
}

function lineAt(source: string, index: number): number {
  return source.slice(0, index).split('\n').length;
}

/** The error that a flow ends with: the same, and its message says where it comes from. Paths are relative to the workspace if they are in it. */
export function addPosition(error: unknown, workspace: string): unknown {
  const position = findFrame(error) ?? findStep(error);
  if (position === null || !(error instanceof Error)) return error;
  const shown = relative(workspace, position);
  const message = `${error.message} (${position.startsWith('/') && !shown.startsWith('..') ? shown : position})`;
  if (isRetinueError(error)) return new RetinueError(error.code, message, { retryable: error.retryable, cause: error });
  return Object.assign(new Error(message, { cause: error }), { name: error.name });
}

/** Of an error that was recorded with a step: the line of the step. */
function findStep(error: unknown): string | null {
  return /^ +at flow step \((.+)\)$/m.exec(stackOf(error))?.[1] ?? null;
}

function stackOf(error: unknown): string {
  const stack = (error as { stack?: unknown } | null | undefined)?.stack;
  return typeof stack === 'string' ? stack : '';
}

/** Without a column if it is 0, or if code in front of the first line may have moved it. */
function formatPosition(path: string, line: string, column: number): string {
  const isExact = column > 0 && (line !== '1' || column <= prefixLength);
  return `${toFile(path)}:${line}${isExact ? `:${column}` : ''}`;
}

function toFile(text: string): string {
  const path = text.startsWith('file:') ? fileURLToPath(text) : text;
  return fromVirtualPath(path)?.file ?? path;
}
