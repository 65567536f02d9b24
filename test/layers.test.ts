// Imports go only to lower ranks, types included; no cycles; small files; time, chance, network, files and processes only in adapters. The
// dashboard in web/ uses only what also runs in a browser.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ranks: Record<string, number> = {
  contract: 0,
  ports: 1,
  text: 1,
  system: 1.5,
  rules: 2,
  scheduling: 2,
  conversation: 2,
  kernel: 3,
  records: 4,
  models: 4,
  tools: 4,
  agents: 4,
  stores: 4,
  hosts: 4,
  sandboxes: 4,
  dialects: 4,
  workspaces: 4,
  externals: 4,
  testing: 4.5,
  views: 4.5,
  flows: 4.5,
  config: 5,
  api: 5,
  evals: 5.25,
  doctor: 5.5,
  client: 5.5,
  library: 6,
  cli: 6,
  tui: 6,
  mcp: 6,
  acp: 6,
  server: 6,
  telemetry: 6,
  worker: 6,
  notify: 6,
  main: 7,
};
/** Adapters see contracts, ports, and what they share of the machine and of text. */
const adapters = new Set(['models', 'tools', 'agents', 'stores', 'hosts', 'sandboxes', 'dialects', 'workspaces', 'externals']);

const root = resolve(import.meta.dirname, '..');
const source = join(root, 'src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .sort();
const text = new Map(files.map((name) => [name, readFileSync(join(source, name), 'utf8')]));

function importsOf(name: string): string[] {
  const found = (text.get(name) as string).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...found].map(([, path]) => relative(source, join(source, dirname(name), path as string)));
}

function folderOf(name: string): string {
  return name.split('/')[0] as string;
}

function findCycles(names: Iterable<string>, targetsOf: (name: string) => string[]): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const cycles: string[] = [];
  const visit = (name: string): void => {
    if (done.has(name)) return;
    if (path.includes(name)) {
      cycles.push([...path.slice(path.indexOf(name)), name].join(' → '));
      return;
    }
    path.push(name);
    for (const target of targetsOf(name)) visit(target);
    path.pop();
    done.add(name);
  };
  for (const name of names) visit(name);
  return cycles;
}

describe('layers', () => {
  it('has only folders with a rank', () => {
    expect(files.filter((name) => !(folderOf(name) in ranks))).toEqual([]);
  });

  it('imports only from lower ranks, or from its own folder', () => {
    const wrong: string[] = [];
    for (const name of files) {
      const own = folderOf(name);
      for (const target of importsOf(name)) {
        const other = folderOf(target);
        if (own === other) continue;
        const up = (ranks[other] as number) >= (ranks[own] as number);
        const past = adapters.has(own) && (ranks[other] as number) > 1.5;
        if (up || past || !text.has(target)) wrong.push(`${name} → ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('imports testing/ only from the entry point that publishes it', () => {
    const importers = files.filter(
      (name) => folderOf(name) !== 'testing' && importsOf(name).some((target) => folderOf(target) === 'testing'),
    );
    expect(importers).toEqual(['main/testing.ts']);
  });

  it('has no import cycles', () => {
    expect(findCycles(files, (name) => importsOf(name).filter((target) => text.has(target)))).toEqual([]);
  });

  it('has no file of more than 500 lines', () => {
    expect(files.filter((name) => (text.get(name) as string).split('\n').length > 500)).toEqual([]);
  });

  it('takes no time and no chance from the machine outside adapters', () => {
    const pure = new Set([
      'contract',
      'ports',
      'text',
      'rules',
      'scheduling',
      'conversation',
      'kernel',
      'records',
      'dialects',
      'api',
      'views',
      'cli',
    ]);
    const forbidden = /\b(Date\.now|Math\.random|performance\.now|randomUUID|randomBytes|setTimeout|setInterval|setImmediate)\s*\(/;
    expect(files.filter((name) => pure.has(folderOf(name)) && forbidden.test(text.get(name) as string))).toEqual([]);
  });

  it('imports node:sqlite only in its store', () => {
    expect(files.filter((name) => /from 'node:sqlite'/.test(text.get(name) as string) && !name.startsWith('stores/sqlite/'))).toEqual([]);
  });
});

/** Files of the dashboard and of src/, by their paths in the repository. */
const webNames = readdirSync(join(root, 'web/src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => `web/src/${name}`)
  .sort();
const all = new Map([
  ...[...text].map(([name, content]) => [`src/${name}`, content] as const),
  ...webNames.map((name) => [name, readFileSync(join(root, name), 'utf8')] as const),
]);

/** Paths in the repository of what a file imports; with `values`, without imports of types alone, which no bundle contains. */
function targetsOf(name: string, { values = false } = {}): string[] {
  const pattern = values
    ? /(?:^(?:import|export)\s+(?!type\b)(?:[^'";]*?\bfrom\s*)?|\bimport\s*\()\s*'(\.[^']+)'/gm
    : /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
  return [...(all.get(name) as string).matchAll(pattern)].map(([, path]) => relative(root, join(root, dirname(name), path as string)));
}

describe('layers of the dashboard', () => {
  it('imports only itself and what also runs in a browser', () => {
    const allowed = /^(web\/src\/|src\/(contract|views|client|text)\/)/;
    const wrong = webNames.flatMap((name) =>
      targetsOf(name)
        .filter((target) => !allowed.test(target) || !(all.has(target) || target.endsWith('.css')))
        .map((target) => `${name} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('bundles no schema library and no module of Node', () => {
    const bundled = new Set<string>();
    const visit = (name: string): void => {
      if (bundled.has(name)) return;
      bundled.add(name);
      for (const target of targetsOf(name, { values: true })) if (all.has(target)) visit(target);
    };
    for (const name of webNames) visit(name);
    expect(bundled).toContain('src/views/live-state.ts');
    expect([...bundled].filter((name) => /^import (?!type\b)[^;]*'(zod|node:[^']*)'/m.test(all.get(name) as string))).toEqual([]);
  });

  it('has no import cycles and no file of more than 500 lines', () => {
    expect(findCycles(webNames, (name) => targetsOf(name).filter((target) => target.startsWith('web/') && all.has(target)))).toEqual([]);
    expect(webNames.filter((name) => (all.get(name) as string).split('\n').length > 500)).toEqual([]);
  });

  it('renders text of runs as text', () => {
    const unsafe = /dangerouslySetInnerHTML|\.(innerHTML|outerHTML)\s*=|insertAdjacentHTML|document\.write|\beval\(|new Function\(/;
    expect(webNames.filter((name) => unsafe.test(all.get(name) as string))).toEqual([]);
  });
});
