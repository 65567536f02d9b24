import { folderOf } from './languages.ts';

/**
 * Imports, one rule for each family of languages: a pattern for `grep` and a reading of the lines that it finds.
 * Patterns use only what every engine of regular expressions knows: no looking around, no references back.
 */

export interface Import {
  /** `file`: something of the workspace, by path where it could be found. `package`: something from elsewhere. */
  kind: 'file' | 'package';
  name: string;
}

export interface ImportRule {
  extensions: string[];
  pattern: string;
  /** What a line imports; empty where it imports nothing. `known` holds the files of the survey. */
  read(line: string, file: string, known: ReadonlySet<string>): Import[];
}

const script: ImportRule = {
  extensions: ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs', 'vue', 'svelte'],
  pattern: `^\\s*(import\\b|export\\b|\\}).*\\bfrom\\s*['"][^'"]+['"]|^\\s*import\\s*['"]|\\b(require|import)\\s*\\(\\s*['"]`,
  read(line, file, known) {
    const whole = /^\s*(?:import\b|export\b|\}).*\bfrom\s*['"]([^'"]+)['"]/.exec(line) ?? /^\s*import\s*['"]([^'"]+)['"]/.exec(line);
    const called = Array.from(line.matchAll(/\b(?:require|import)\s*\(\s*['"]([^'"]+)['"]/g), (match) => match[1] ?? '');
    return (whole?.[1] === undefined ? called : [whole[1]]).map((name) => scriptImport(name, file, known));
  },
};

const endings = ['', '.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs', '.cjs', '.vue', '.svelte', '/index.ts', '/index.tsx', '/index.js'];

function scriptImport(name: string, file: string, known: ReadonlySet<string>): Import {
  if (/^[~@]\//.test(name) || name.startsWith('#')) return { kind: 'file', name };
  if (name.startsWith('.')) {
    const path = join(folderOf(file), name.replace(/[?#].*$/, ''));
    // Compiled names stand for sources: `./a.js` is written for `./a.ts`.
    const source = path.replace(/\.([mc]?)js(x?)$/, '.$1ts$2');
    return { kind: 'file', name: first([...endings.map((ending) => path + ending), source], known) ?? path };
  }
  const parts = name.split('/');
  return { kind: 'package', name: parts.slice(0, name.startsWith('@') ? 2 : 1).join('/') };
}

const python: ImportRule = {
  extensions: ['py', 'pyi'],
  pattern: '^\\s*(from\\s+[\\w.]+\\s+import\\b|import\\s+[\\w.]+)',
  read(line, file, known) {
    const from = /^\s*from\s+(\.*)([\w.]*)\s+import\b/.exec(line);
    if (from) return [pythonImport(from[2] ?? '', (from[1] ?? '').length, file, known)];
    const modules = /^\s*import\s+([\w., \t]+)/.exec(line)?.[1]?.split(',') ?? [];
    const names = modules.map((module) => module.trim().split(/\s/)[0] ?? '').filter((name) => /^\w/.test(name));
    return names.map((name) => pythonImport(name, 0, file, known));
  },
};

function pythonImport(module: string, dots: number, file: string, known: ReadonlySet<string>): Import {
  const path = module.replaceAll('.', '/');
  if (dots > 0) {
    const base = join(folderOf(file), `./${'../'.repeat(dots - 1)}${path}`);
    return { kind: 'file', name: first([`${base}.py`, `${base}/__init__.py`], known) ?? base };
  }
  const [top = ''] = file.split('/');
  const roots = ['', `${top}/`, `${folderOf(file)}/`];
  const places = roots.flatMap((root) => [`${root}${path}.py`, `${root}${path}/__init__.py`]);
  const found = first(places, known);
  return found === null ? { kind: 'package', name: module.split('.')[0] ?? module } : { kind: 'file', name: found };
}

const go: ImportRule = {
  extensions: ['go'],
  pattern: '^import\\s+([\\w.]+\\s+)?"|^\\s+([\\w.]+\\s+)?"[\\w./~-]+"\\s*(//.*)?$',
  read(line) {
    const name = /^(?:import\s+|\s+)(?:[\w.]+\s+)?"([\w./~-]+)"\s*(?:\/\/.*)?$/.exec(line)?.[1];
    return name === undefined ? [] : [{ kind: 'package', name }];
  },
};

const rust: ImportRule = {
  extensions: ['rs'],
  pattern: '^\\s*(pub(\\([a-z]+\\))?\\s+)?(use\\s+[\\w:]+|mod\\s+\\w+;|extern\\s+crate\\s+\\w+)',
  read(line, file, known) {
    const [, word = '', path = '', semicolon] = /^\s*(?:pub(?:\([a-z]+\))?\s+)?(use|mod|extern\s+crate)\s+([\w:]+)(;?)/.exec(line) ?? [];
    const [start = '', next = ''] = path.split('::').filter((part) => part !== '');
    if (start === '' || start === 'self' || start === 'super' || (word === 'mod' && !semicolon)) return [];
    if (word !== 'mod' && start !== 'crate') return [{ kind: 'package', name: start }];
    const name = word === 'mod' ? start : next;
    const root = word === 'mod' ? folderOf(file) : (/^(.*\/)?src(?=\/)/.exec(file)?.[0] ?? folderOf(file));
    const prefix = root === '' ? name : `${root}/${name}`;
    return name === '' ? [] : [{ kind: 'file', name: first([`${prefix}.rs`, `${prefix}/mod.rs`], known) ?? `crate::${name}` }];
  },
};

const jvm: ImportRule = {
  extensions: ['java', 'kt', 'kts', 'scala', 'groovy'],
  pattern: '^\\s*import\\s+(static\\s+)?[\\w.]+',
  read(line, _, known) {
    const name = /^\s*import\s+(?:static\s+)?([\w.]+)/.exec(line)?.[1]?.replace(/\.$/, '');
    if (name === undefined) return [];
    const names = name.split('.');
    const type = names.findIndex((part) => /^[A-Z]/.test(part));
    const path = names.slice(0, type === -1 ? names.length : type + 1).join('/');
    const found = filesNamed(known, path.slice(path.lastIndexOf('/') + 1)).find((file) => file.replace(/\.\w+$/, '').endsWith(`/${path}`));
    if (found !== undefined) return [{ kind: 'file', name: found }];
    const folders = type === -1 ? names.slice(0, -1) : names.slice(0, type);
    return [{ kind: 'package', name: (folders.length > 0 ? folders : names).slice(0, 3).join('.') }];
  },
};

const c: ImportRule = {
  extensions: ['c', 'h', 'cc', 'cpp', 'cxx', 'hh', 'hpp', 'hxx'],
  pattern: '^\\s*#\\s*include\\s*[<"][^>"]+[>"]',
  read(line, file, known) {
    const [, mark, name = ''] = /^\s*#\s*include\s*([<"])([^>"]+)[>"]/.exec(line) ?? [];
    if (mark === undefined) return [];
    const path = join(folderOf(file), name);
    return mark === '<' ? [{ kind: 'package', name }] : [{ kind: 'file', name: known.has(path) ? path : name }];
  },
};

const importRules: ImportRule[] = [script, python, go, rust, jvm, c];

const byExtension = new Map(importRules.flatMap((rule) => rule.extensions.map((extension) => [extension, rule] as const)));

export function importRuleOf(extension: string): ImportRule | null {
  return byExtension.get(extension) ?? null;
}

function first(names: string[], known: ReadonlySet<string>): string | null {
  return names.find((name) => known.has(name)) ?? null;
}

const named = new WeakMap<ReadonlySet<string>, Map<string, string[]>>();

/** The files of this name without its ending: looked up once for each of thousands of imports. */
function filesNamed(known: ReadonlySet<string>, name: string): string[] {
  let index = named.get(known);
  if (index === undefined) {
    index = Map.groupBy(known, (file) => file.slice(file.lastIndexOf('/') + 1).replace(/\.\w+$/, ''));
    named.set(known, index);
  }
  return index.get(name) ?? [];
}

/** A path from a folder; `..` past the workspace stays out of it. */
function join(folder: string, path: string): string {
  const names = folder === '' ? [] : folder.split('/');
  for (const name of path.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names.join('/');
}
