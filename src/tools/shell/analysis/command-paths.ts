// Paths in the words of commands. A word may be a path for some program whatever it looks like, so the test is on the text alone: what can
// only mean a place outside the workspace makes the command unsafe; a plain word is a place inside.
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { pathSubjects } from '../../files/path-subjects.ts';
import { inside, isClosed, shown } from '../../files/paths.ts';
import { refuse } from './deny-command.ts';

/** Devices that hold nothing. */
const devices = /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|fd\/\d+)$/;
const address = /^(https?|git|ssh|wss?):\/\/(?!.*(?:^|\/)\.\.(?:\/|$))[^\s]*$/i;

const maxBases = 64;

export interface Places {
  /** The workspace, and its real path where that differs. */
  roots: string[];
  /** Where relative paths may start: the workspace and what commands change to. */
  bases: string[];
}

export function placesOf(workspace: string): Places {
  let real = workspace;
  try {
    real = realpathSync(workspace);
  } catch {
    // It is not there: nothing will be started in it.
  }
  return { roots: [...new Set([workspace, real])], bases: [real] };
}

export function isDevice(path: string): boolean {
  return devices.test(path);
}

/** Why a word names something that is not to be touched, or null. */
export function strays(word: string, places: Places): string | null {
  if (address.test(word) && !isThere(word.split('/', 3).join('/'), places)) return null;
  if (/^file:/i.test(word)) return 'it names a file by its address';
  const parts = new Set(pathsIn(word));
  for (const part of parts) {
    if (isDevice(part)) continue;
    if (/^~/.test(part)) return `\`${part}\` lies outside the workspace`;
    if (inside(places.roots, part) === null) return `\`${part}\` lies outside the workspace`;
    if (isClosed(inside(places.roots, part) as string)) return `\`${part}\` is closed`;
  }
  for (const part of parts.add(word)) {
    const why = leads(part, places);
    if (why !== null) return why;
  }
  return null;
}

/** What could be a path in a word: what lies between `=`, `:`, `@` and the like, and what touches a flag (`-f/etc/passwd`, `-flink`). */
function pathsIn(word: string): string[] {
  const parts = word.split(/[=:,@;|<>&()'"`{}\s\\]+/).filter((part) => part !== '');
  // Any `/` that no name comes before begins a path.
  const inner = [...word.matchAll(/(?<![\p{L}\p{N}_.\-+~^%#\]*?/])\/[^\s'"=:,;|<>&()]*/gu)].map(([path]) => path);
  const attached = /^-[A-Za-z0-9]+(\/.*|\.\.(?:\/.*)?)$/.exec(word)?.[1];
  // Of a cluster any letter may be the one that the value touches.
  const touching = /^-[^-]/.test(word) ? Array.from({ length: Math.min(word.length - 2, 8) }, (_, index) => word.slice(index + 2)) : [];
  return [...parts, ...inner, ...(attached === undefined ? [] : [attached]), ...touching];
}

/** Links are followed as far as they are there now. What is swapped later is for the sandbox. */
function leads(word: string, { roots, bases }: Places): string | null {
  if (word === '' || word.length > 4_096 || word.includes('\0') || isDevice(word)) return null;
  for (const base of bases) {
    const real = landing(isAbsolute(word) ? word : `${base}/${word}`);
    if (real === null) return `nobody knows where \`${word}\` leads`;
    const target = inside(roots, real);
    if (target === null) return `\`${word}\` leads outside the workspace`;
    if (isClosed(target)) return `\`${word}\` is closed`;
  }
  return null;
}

/**
 * Where the kernel gets to on an absolute path: name by name, so that `..` behind a link is the folder above the link's target. Names that
 * do not exist are kept. Null for what cannot be told yet: `..` behind a name that is not there, or a link to something that is not there.
 */
export function landing(path: string): string | null {
  let at = '/';
  let isMissing = false;
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name === '..' && isMissing) return null;
    const next = name === '..' ? dirname(at) : join(at, name);
    if (isMissing || name === '..') at = next;
    else {
      try {
        at = realpathSync.native(next);
      } catch {
        if (isLink(next)) return null;
        at = next;
        isMissing = true;
      }
    }
  }
  return at;
}

/** What rules about files and what is protected are held against: the path as it is written and where it leads, from every folder. */
export function targets(path: string, workspace: string, { roots, bases }: Places): string[] {
  const found = new Set<string>();
  for (const base of bases) {
    const full = isAbsolute(path) ? path : `${base}/${path}`;
    for (const each of pathSubjects(full, workspace)) found.add(each);
    const real = landing(full);
    if (real !== null) found.add(shown(inside(roots, real) ?? real));
  }
  return [...found];
}

/** A folder `https:` makes a path of an address. */
function isThere(path: string, { bases }: Places): boolean {
  return bases.some((base) => existsSync(`${base}/${path}`) || isLink(`${base}/${path}`));
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** A folder that a command changes to: words may start there. */
export function enter(target: string, places: Places): void {
  // `cd` takes `..` away before it follows links, `cd -P` does not.
  const entered = places.bases.flatMap((base) => {
    const logical = resolve(base, target);
    return [logical, landing(isAbsolute(target) ? target : `${base}/${target}`) ?? logical];
  });
  places.bases = [...new Set([...places.bases, ...entered])];
  if (places.bases.length > maxBases) refuse('changes the folder too often', 'write it as several commands');
}
