// A format: where a program keeps its agent files, and how one of them becomes a definition with the keys of Retinue.
import type { Json } from '../../contract/json.ts';
import { markInvisible } from '../../text/invisible.ts';
import { clipName } from '../../text/suggest.ts';
import { createProblem, type FrontMatterEntry } from '../front-matter.ts';
import { isAboutRights, judgeKey } from '../keys.ts';

export interface AgentFile {
  /** The path as messages show it. */
  path: string;
  text: string;
}

/** A part of a file that has no effect here, and why. */
export interface LeftOut {
  what: string;
  why: string;
}

/** A definition with the keys of Retinue, not checked yet. */
export interface RawAgent {
  /** The file, and the part of it that defines the agent if it defines several. */
  source: string;
  entries: FrontMatterEntry[];
  /** The prompt. */
  body: string;
  leftOut: LeftOut[];
  /** What refuses the definition, each with file and line. */
  problems: string[];
}

/** The user's folders, in which programs keep their files. */
export interface UserFolders {
  home: string;
  /** `~/.config`, unless the user has another. */
  config: string;
  /** The folder that a variable names; undefined if it is unset or relative. */
  variable(name: string): string | undefined;
}

export interface AgentFormat {
  /** The name of the program. */
  program: string;
  /** Relative to the workspace, in order. */
  folders: string[];
  userFolders(user: UserFolders): string[];
  /** How the names of its files end. The first that fits is removed for the name of the agent. */
  endings: string[];
  /** Names of single files in these folders that count, instead of all with the endings. */
  fileNames?: string[];
  /** Empty if the file defines no agent. Throws `invalid_config` if it cannot be read. */
  read(file: AgentFile, name: string): RawAgent[];
}

/** What a key of another program means here. Text: the same as this key of Retinue. */
export type KeyRule = string | { leftOut: string } | ((value: Json, to: Translation) => void);
export type KeyTable = Record<string, KeyRule>;

/** Collects the definition. */
export interface Translation {
  set(key: string, value: Json): void;
  /** Adds items to a list such as `rules`. */
  add(key: 'tools' | 'disallowedTools' | 'rules', items: string[]): void;
  /** Adds a part of the prompt, after those before. */
  addPrompt(text: string): void;
  leaveOut(what: string, why: string): void;
  /** Refuses the whole definition. */
  refuse(message: string): void;
}

const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Keys that the table does not have are left out; those that seem to be about rights refuse the definition. */
export function translateEntries(
  file: { source: string; path: string },
  { entries, body }: { entries: FrontMatterEntry[]; body: string },
  table: KeyTable,
): RawAgent {
  const raw: RawAgent = { source: file.source, entries: [], body: '', leftOut: [], problems: [] };
  const prompt = [body];
  for (const { key, value, line } of entries) {
    const rule = Object.hasOwn(table, key) ? (table[key] as KeyRule) : undefined;
    const to: Translation = {
      set: (own, given) => void raw.entries.push({ key: own, value: given, line }),
      add: (own, items) => addItems(raw.entries, own, items, line),
      addPrompt: (text) => void prompt.push(text),
      leaveOut: (what, why) => void raw.leftOut.push({ what: clipName(markInvisible(what)), why }),
      refuse: (message) => void raw.problems.push(createProblem(file.path, line, message).message),
    };
    if (typeof rule === 'function') rule(value, to);
    else if (typeof rule === 'string') to.set(rule, value);
    else if (rule !== undefined) to.leaveOut(`\`${key}\``, rule.leftOut);
    else judgeUnknownKey(key, to);
  }
  raw.body = markInvisible(prompt.join('\n\n').trim());
  return raw;
}

function judgeUnknownKey(key: string, to: Translation): void {
  const verdict = judgeKey(key);
  if (verdict.kind === 'error') to.refuse(verdict.message);
  else if (isAboutRights(key)) to.refuse(`unknown key \`${clipName(key)}\` (it seems to be about rights, so it is not ignored)`);
  else to.leaveOut(`\`${key}\``, 'Retinue does not know this key');
}

/** The first of `candidates` that can be made a name; null if none can. Another spelling than the file's is said. */
export function chooseName(candidates: (Json | undefined)[], leaveOut: Translation['leaveOut'] = () => {}): string | null {
  for (const given of candidates) {
    if (typeof given !== 'string') continue;
    const name = given
      .slice(0, 200)
      .toLowerCase()
      .replace(/[^a-z0-9_]+/g, '-')
      .replace(/^[-_]+|-+$/g, '')
      .slice(0, 64);
    if (!namePattern.test(name)) continue;
    if (name !== given) leaveOut(`\`name: ${given.slice(0, 60)}\``, `the agent is called ${name} here`);
    return name;
  }
  return null;
}

/** Sets the name of a definition. */
export function nameAgent(raw: RawAgent, path: string, candidates: (Json | undefined)[]): RawAgent {
  const name = chooseName(candidates, (what, why) => void raw.leftOut.push({ what: markInvisible(what), why }));
  if (name === null) raw.problems.push(createProblem(path, 1, 'it has no usable name').message);
  else raw.entries.unshift({ key: 'name', value: name, line: 1 });
  return raw;
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isTextList(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function addItems(entries: FrontMatterEntry[], key: string, items: string[], line: number): void {
  const known = entries.find((entry) => entry.key === key);
  if (known) known.value = [...(known.value as string[]), ...items];
  else entries.push({ key, value: items, line });
}
