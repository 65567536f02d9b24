// Loads the definition of a flow from its graph: Node gets the sources that were hashed, with at most the guard of import-meta.ts in front, and no other
// local file.
import { createRequire, registerHooks } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import { type FlowDefinition, isFlowDefinition } from './definition.ts';
import { type FlowGraph, formats, isLocal, isOwnPackage, isPathImport, resolveImport } from './import-graph.ts';
import { guardImportMeta } from './import-meta.ts';
import { callGuarded } from './process-guard.ts';
import { findFrame, findSyntaxPosition, locateMissingExport, locateSyntaxError, locateText } from './source-position.ts';
import { fromVirtualPath, toVirtualPath, virtualRoot } from './virtual-path.ts';

/** Graphs by version, for as long as the process lives: a program may import later. */
const graphs = new Map<string, FlowGraph>();
let hasHooks = false;
/** The file of a flow that Node has read last, null for another file: Node compiles a file as soon as it has read it. */
let lastLoaded: string | null = null;

/** Executes the file. Its imports of `retinue` get the modules of this program. Throws `usage` if it has no flow or cannot be loaded. */
export function loadDefinition(graph: FlowGraph, ownModule: (specifier: string) => string): FlowDefinition {
  addHooks(ownModule);
  graphs.set(graph.version, graph);
  let loaded: unknown;
  try {
    loaded = callGuarded(() => createRequire(import.meta.url)(toVirtualPath(graph.version, graph.file)));
  } catch (error) {
    const message = `the flow ${graph.file} cannot be loaded: ${describeError(error, graph)}`;
    throw new RetinueError(isRetinueError(error) ? error.code : 'usage', message, { cause: error });
  }
  const definition = (loaded as { default?: unknown }).default;
  if (!isFlowDefinition(definition))
    throw new RetinueError('usage', `${graph.file} is not a flow: its default export must be the result of \`defineFlow\``);
  return definition;
}

function describeError(error: unknown, { files }: FlowGraph): string {
  const { code, name, message } = error as { code?: string; name?: string; message?: string };
  if (code === 'ERR_REQUIRE_ASYNC_MODULE') return 'a flow may not use `await` outside of its functions';
  const text = String(message ?? error).replaceAll(new RegExp(`${virtualRoot}[0-9a-f]+`, 'g'), '');
  const frame = findFrame(error);
  if (frame !== null) return `${frame}: ${name === undefined || isRetinueError(error) ? text : `${name}: ${text}`}`;
  if (!(error instanceof SyntaxError)) return text;
  const source = lastLoaded === null ? undefined : files.get(lastLoaded);
  const position =
    findSyntaxPosition(error) ??
    locateMissingExport(text, files) ??
    (lastLoaded === null || source === undefined || text.startsWith(lastLoaded) ? null : locateSyntaxError(lastLoaded, source));
  return position === null ? text : `${position}: ${text}`;
}

function addHooks(ownModule: (specifier: string) => string): void {
  if (hasHooks) return;
  hasHooks = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (fromVirtualPath(specifier)) return toFlowModule(specifier);
      const parent = context.parentURL?.startsWith('file:') ? fromVirtualPath(fileURLToPath(context.parentURL)) : null;
      if (!parent) return next(specifier, context);
      if (isOwnPackage(specifier)) return { url: pathToFileURL(ownModule(specifier)).href, shortCircuit: true };
      if (isPathImport(specifier)) return toGraphModule(specifier, parent, resolveImport(specifier, parent.file));
      const found = next(specifier, { ...context, parentURL: pathToFileURL(parent.file).href });
      const path = found.url.startsWith('file:') ? fileURLToPath(found.url) : null;
      return path !== null && isLocal(path) ? toGraphModule(specifier, parent, path) : found;
    },
    load(url, context, next) {
      const module = url.startsWith('file:') ? fromVirtualPath(fileURLToPath(url)) : null;
      lastLoaded = module?.file ?? null;
      if (!module) return next(url, context);
      const source = graphs.get(module.version)?.files.get(module.file);
      if (source === undefined) throw new RetinueError('internal', `${module.file} is not a part of the flow`);
      const format = formats[extname(module.file)] as string;
      return { format, source: Buffer.from(format === 'json' ? source : guardImportMeta(source)), shortCircuit: true };
    },
  });
}

/** Only files of the graph are served: they were hashed, and trusted if that is needed. */
function toGraphModule(specifier: string, parent: { version: string; file: string }, file: string | null) {
  if (file !== null && graphs.get(parent.version)?.files.has(file)) return toFlowModule(toVirtualPath(parent.version, file));
  const problem =
    file === null || extname(file) in formats
      ? 'but no such file was found when the flow was read; write an existing path as a string literal'
      : `but a flow can import only files with one of the extensions ${Object.keys(formats).join(' ')}`;
  const importing = locateText(specifier, parent.file, graphs.get(parent.version)?.files.get(parent.file));
  throw new RetinueError('usage', `${importing} imports ${specifier}, ${problem}`);
}

function toFlowModule(path: string) {
  return { url: pathToFileURL(path).href, format: formats[extname(path)] as string, shortCircuit: true };
}
