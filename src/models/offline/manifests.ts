import { isFixture, nameOf } from './languages.ts';
import { parseComposer, parsePackageJson } from './manifests/json.ts';
import { parseGemfile, parseGoMod, parseGradle, parsePom, parseRequirements } from './manifests/lines.ts';
import type { Manifest, ManifestParser } from './manifests/manifest.ts';
import { parseCargo, parsePyproject } from './manifests/toml.ts';
import { byName } from './text.ts';

/** Files that say what a project is and what it stands on. */

const parsers = new Map<string, { kind: string; parse: ManifestParser }>([
  ['package.json', { kind: 'npm', parse: parsePackageJson }],
  ['pyproject.toml', { kind: 'Python', parse: parsePyproject }],
  ['requirements.txt', { kind: 'Python', parse: parseRequirements }],
  ['go.mod', { kind: 'Go', parse: parseGoMod }],
  ['Cargo.toml', { kind: 'Rust', parse: parseCargo }],
  ['pom.xml', { kind: 'Maven', parse: parsePom }],
  ['build.gradle', { kind: 'Gradle', parse: parseGradle }],
  ['build.gradle.kts', { kind: 'Gradle', parse: parseGradle }],
  ['composer.json', { kind: 'Composer', parse: parseComposer }],
  ['Gemfile', { kind: 'Ruby', parse: parseGemfile }],
]);

export const manifestNames = [...parsers.keys()];

/** Those of fixtures describe no part of this project. */
export function isManifest(path: string): boolean {
  return parsers.has(nameOf(path)) && !isFixture(path);
}

/** The nearest to the top first. */
export function byDepth(a: string, b: string): number {
  return a.split('/').length - b.split('/').length || byName(a, b);
}

export interface ReadManifest extends Manifest {
  path: string;
  kind: string;
  /** False: it could not be understood, or only its beginning was seen. */
  whole: boolean;
}

export function parseManifest(path: string, text: string, complete: boolean): ReadManifest | null {
  const entry = parsers.get(nameOf(path));
  if (entry === undefined) return null;
  const empty: Manifest = { name: '', about: '', runtime: [], development: [], entries: [], testCommand: '' };
  const found = entry.parse(text);
  return { ...empty, ...found, path, kind: entry.kind, whole: complete && found !== null };
}
