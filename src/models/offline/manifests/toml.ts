import type { Manifest, ManifestParser } from './manifest.ts';

/** As much of TOML as manifests need: sections, keys, and the texts in a value. Whatever else there is, is passed over. */
export type Toml = Map<string, Map<string, string[]>>;

/** Sections by name (`project.scripts`); `[[bin]]` several times is `bin`, `bin#1`, `bin#2`. A value is the list of the texts in it. */
export function parseToml(text: string): Toml {
  const sections: Toml = new Map([['', new Map()]]);
  let section = sections.get('') as Map<string, string[]>;
  const lines = text.split('\n').map(withoutComment);
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const head = /^\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}\s*$/.exec(line)?.[1]?.replace(/["']/g, '');
    if (head !== undefined) {
      section = new Map();
      const count = [...sections.keys()].filter((name) => name === head || name.startsWith(`${head}#`)).length;
      sections.set(count === 0 ? head : `${head}#${count}`, section);
      continue;
    }
    const pair = /^\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=\s*(.*)$/.exec(line);
    if (!pair) continue;
    let value = pair[2] ?? '';
    // A list may go on over lines; texts in it may hold brackets of their own.
    while (isOpen(value) && i + 1 < lines.length) value += `\n${lines[++i]}`;
    section.set((pair[1] ?? '').replace(/["']/g, ''), textsIn(value));
  }
  return sections;
}

function withoutComment(line: string): string {
  return /^((?:[^#"']|"[^"]*"|'[^']*')*)#/.exec(line)?.[1] ?? line;
}

function isOpen(value: string): boolean {
  const bare = value.replace(/"[^"\n]*"|'[^'\n]*'/g, '');
  return bare.split('[').length > bare.split(']').length;
}

function textsIn(value: string): string[] {
  return Array.from(value.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g), (match) => match[1] ?? match[2] ?? '');
}

export const parsePyproject: ManifestParser = (text) => {
  const toml = parseToml(text);
  const project = toml.get('project') ?? toml.get('tool.poetry');
  const groups = [...toml].filter(([name]) => /^(dependency-groups|project\.optional-dependencies)$/.test(name));
  const poetryGroups = [...toml].filter(([name]) => /^tool\.poetry\.(group\..+\.|dev-)dependencies$/.test(name));
  const scripts = toml.get('project.scripts') ?? toml.get('tool.poetry.scripts') ?? new Map<string, string[]>();
  return {
    name: project?.get('name')?.[0] ?? '',
    about: project?.get('description')?.[0] ?? '',
    runtime: unique([
      ...(project?.get('dependencies') ?? []).map(requirementName),
      ...keysOf(toml.get('tool.poetry.dependencies'), 'python'),
    ]),
    development: unique([
      ...groups.flatMap(([, group]) => [...group.values()].flat().map(requirementName)),
      ...poetryGroups.flatMap(([, group]) => keysOf(group)),
    ]),
    entries: Array.from(scripts, ([name, [target = '']]) => ({ path: target, why: `command ${name}` })).filter(({ path }) => path !== ''),
    testCommand: toml.has('tool.pytest.ini_options') ? 'pytest' : '',
  };
};

export const parseCargo: ManifestParser = (text) => {
  const toml = parseToml(text);
  const tables = (pattern: RegExp): string[] => unique([...toml].flatMap(([name, table]) => named(name, table, pattern)));
  const bins = [...toml].flatMap(([name, table]) => (/^bin(#\d+)?$/.test(name) ? [table] : []));
  return {
    name: toml.get('package')?.get('name')?.[0] ?? '',
    about: toml.get('package')?.get('description')?.[0] ?? '',
    runtime: tables(/^(?:workspace\.|target\..+\.)?dependencies(?:\.(.+))?$/),
    development: tables(/^(?:target\..+\.)?(?:dev|build)-dependencies(?:\.(.+))?$/),
    entries: bins.flatMap(binEntry),
  };
};

/** `[dependencies]` has names as keys, `[dependencies.serde]` is one name. */
function named(name: string, table: Map<string, string[]>, pattern: RegExp): string[] {
  const match = pattern.exec(name);
  if (!match) return [];
  return match[1] === undefined ? keysOf(table) : [match[1]];
}

function binEntry(bin: Map<string, string[]>): Manifest['entries'] {
  const path = bin.get('path')?.[0];
  return path === undefined ? [] : [{ path, why: `command ${bin.get('name')?.[0] ?? ''}`.trim() }];
}

function keysOf(table: Map<string, string[]> | undefined, ...but: string[]): string[] {
  return [...(table?.keys() ?? [])].map((key) => key.replace(/\.(workspace|version|path)$/, '')).filter((key) => !but.includes(key));
}

/** `requests[socks]>=2; python_version < "3"` is `requests`. */
export function requirementName(text: string): string {
  return /^\s*([\w.-]+)/.exec(text)?.[1] ?? '';
}

function unique(names: string[]): string[] {
  return [...new Set(names.filter((name) => name !== ''))];
}
