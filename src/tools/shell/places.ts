// Paths in the words of commands. A word may be a path for some program whatever it looks like, so the test is on the text alone: what can
// only mean a place outside the workspace makes the command unsafe; a plain word is a place inside.
import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { inside, isClosed } from '../paths.ts';
import { refuse } from './refuse.ts';

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
  if (address.test(word)) return null;
  if (/^file:/i.test(word)) return 'it names a file by its address';
  for (const part of pathsIn(word)) {
    if (isDevice(part)) continue;
    if (/^~/.test(part)) return `\`${part}\` lies outside the workspace`;
    if (inside(places.roots, part) === null) return `\`${part}\` lies outside the workspace`;
    if (isClosed(inside(places.roots, part) as string)) return `\`${part}\` is closed`;
  }
  return leads(word.replace(/^-{1,2}[\w-]+=/, ''), places);
}

/** What could be a path in a word: all of it, what follows `=`, `:`, `@` and the like, and what touches a flag (`-f/etc/passwd`). */
function pathsIn(word: string): string[] {
  const parts = word.split(/[=:,@;|<>&()'"`{}\s\\]+/).filter((part) => part !== '');
  // Any `/` that no name comes before begins a path.
  const inner = [...word.matchAll(/(?<![\p{L}\p{N}_.\-+~^%#\]*?/])\/[^\s'"=:,;|<>&()]*/gu)].map(([path]) => path);
  const attached = /^-[A-Za-z0-9]+(\/.*|\.\.(?:\/.*)?)$/.exec(word)?.[1];
  return [...parts, ...inner, ...(attached === undefined ? [] : [attached])];
}

/** Links are followed as far as they are there now. What is swapped later is for the sandbox. */
function leads(word: string, { roots, bases }: Places): string | null {
  if (word === '' || word.length > 4_096 || word.startsWith('-') || word.includes('\0')) return null;
  for (const base of bases) {
    const path = isAbsolute(word) ? word : join(base, word);
    try {
      if (inside(roots, realpathSync(path)) === null && !isDevice(word)) return `\`${word}\` is a link that leads outside the workspace`;
    } catch {
      if (isDangling(path)) return `\`${word}\` is a link to something that is not there`;
    }
  }
  return null;
}

function isDangling(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** A folder that a command changes to: words may start there. */
export function enter(target: string, places: Places): void {
  places.bases = [...new Set([...places.bases, ...places.bases.map((base) => resolve(base, target))])];
  if (places.bases.length > maxBases) refuse('changes the folder too often', 'write it as several commands');
}
