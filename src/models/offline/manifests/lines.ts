import type { ManifestParser } from './manifest.ts';
import { requirementName } from './toml.ts';

/** Manifests that are read line by line or piece by piece. */

export const parseRequirements: ManifestParser = (text) => ({
  runtime: text
    .split('\n')
    .filter((line) => /^\s*[A-Za-z]/.test(line) && !/^\s*(https?|git|file)[+:]/.test(line))
    .map(requirementName),
});

/** Indirect requirements are the tool's, not the project's. */
export const parseGoMod: ManifestParser = (text) => {
  const runtime: string[] = [];
  let inside = false;
  for (const line of text.split('\n')) {
    if (/^require\s*\(/.test(line)) inside = true;
    else if (inside && /^\)/.test(line)) inside = false;
    const name = /^(?:require\s+|\s+)([\w./~-]+)\s+v/.exec(line)?.[1];
    if (name !== undefined && (inside || line.startsWith('require')) && !line.includes('// indirect')) runtime.push(name);
  }
  return { name: /^module\s+(\S+)/m.exec(text)?.[1] ?? '', runtime };
};

export const parsePom: ManifestParser = (text) => {
  const pieces = text.split('<dependency>');
  const runtime: string[] = [];
  const development: string[] = [];
  for (const piece of pieces.slice(1)) {
    const body = piece.split('</dependency>')[0] ?? '';
    const name = tag(body, 'artifactId');
    if (name !== '') (tag(body, 'scope') === 'test' ? development : runtime).push(name);
  }
  // What stands before the parent and the dependencies is the project's own.
  const own = (pieces[0] ?? '').replace(/<parent>[\s\S]*<\/parent>/, '');
  return { name: tag(own, 'artifactId'), about: tag(own, 'description'), runtime: unique(runtime), development: unique(development) };
};

function tag(text: string, name: string): string {
  const start = text.indexOf(`<${name}>`);
  const end = text.indexOf(`</${name}>`, start);
  return start === -1 || end === -1 ? '' : text.slice(start + name.length + 2, end).trim();
}

export const parseGradle: ManifestParser = (text) => {
  const runtime: string[] = [];
  const development: string[] = [];
  for (const line of text.split('\n')) {
    const [, word = '', name = ''] =
      /^\s*(\w*[iI]mplementation|api|compileOnly|runtimeOnly|testRuntimeOnly)\b[\s(]*["']([^"']+)["']/.exec(line) ?? [];
    if (name !== '') (word.startsWith('test') ? development : runtime).push(name.split(':').slice(0, 2).join(':'));
  }
  return { runtime: unique(runtime), development: unique(development) };
};

export const parseGemfile: ManifestParser = (text) => {
  const runtime: string[] = [];
  const development: string[] = [];
  let forDevelopment = false;
  for (const line of text.split('\n')) {
    if (/^\s*group\b.*\b(test|development)\b.*\bdo\b/.test(line)) forDevelopment = true;
    else if (/^end\b/.test(line)) forDevelopment = false;
    const name = /^\s*gem\s+["']([^"']+)["']/.exec(line)?.[1];
    if (name !== undefined) (forDevelopment ? development : runtime).push(name);
  }
  return { runtime: unique(runtime), development: unique(development) };
};

function unique(names: string[]): string[] {
  return [...new Set(names)];
}
