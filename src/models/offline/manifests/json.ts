import { parseCutJson } from '../cut-json.ts';
import type { Manifest, ManifestParser } from './manifest.ts';

export const parsePackageJson: ManifestParser = (text) => {
  const value = objectOf(parseCutJson(text));
  if (value === null) return null;
  return {
    name: textOf(value.name),
    about: textOf(value.description),
    runtime: keysOf(value.dependencies, value.peerDependencies, value.optionalDependencies),
    development: keysOf(value.devDependencies),
    entries: entriesOf(value),
    testCommand: textOf(objectOf(value.scripts)?.test),
  };
};

export const parseComposer: ManifestParser = (text) => {
  const value = objectOf(parseCutJson(text));
  if (value === null) return null;
  return {
    name: textOf(value.name),
    about: textOf(value.description),
    runtime: keysOf(value.require).filter((name) => name !== 'php' && !name.startsWith('ext-')),
    development: keysOf(value['require-dev']),
  };
};

type Value = Record<string, unknown>;

function objectOf(value: unknown): Value | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Value) : null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function keysOf(...values: unknown[]): string[] {
  return [...new Set(values.flatMap((value) => Object.keys(objectOf(value) ?? {})))];
}

function entriesOf(value: Value): Manifest['entries'] {
  const bins = typeof value.bin === 'string' ? { [textOf(value.name)]: value.bin } : (objectOf(value.bin) ?? {});
  const entries = Object.entries(bins).map(([name, path]) => ({ path: textOf(path), why: `command ${name}` }));
  for (const key of ['main', 'module', 'browser'] as const) entries.push({ path: textOf(value[key]), why: key });
  entries.push(...exportsOf(value.exports, '.'));
  return entries.filter(({ path }) => path !== '' && !path.endsWith('package.json'));
}

const maxExports = 8;

/** Each door once: of its conditions the one that is imported by default. */
function exportsOf(value: unknown, door: string): Manifest['entries'] {
  if (typeof value === 'string') return [{ path: value, why: door === '.' ? 'exports' : `exports ${door}` }];
  const object = objectOf(value);
  if (object === null) return [];
  const doors = Object.keys(object).filter((key) => key.startsWith('.'));
  if (doors.length > 0) return doors.slice(0, maxExports).flatMap((key) => exportsOf(object[key], key).slice(0, 1));
  const condition = ['import', 'default', 'node', 'require'].find((key) => object[key] !== undefined);
  return condition === undefined ? [] : exportsOf(object[condition], door);
}
