// The files that a command may write, for rules about writing where no sandbox protects the files. A program that is not known only to read may write
// every file that its words name. `written-files.ts` has the programs whose words certainly name files that they write.
import { basename } from 'node:path';
import type { Subject } from '../../../ports/subject.ts';
import type { PathScope } from './command-paths.ts';
import { isUnsafeFlag } from './flags.ts';
import { findNamedFiles } from './named-files.ts';
import { findOperands, type Program, splitList } from './programs/program.ts';
import type { ShellWord } from './read-word.ts';
import { hasPathspecMagic } from './written-files.ts';

/** They write nothing that their words name, unless a flag in their table says otherwise. */
const readers = new Set(
  splitList(`cat head tail less more grep egrep fgrep rg ag ls tree find fd wc sort uniq diff cmp comm stat file du df cut tr od hexdump strings nl tac rev fold
    paste join column sha1sum sha256sum sha512sum md5sum cksum basename dirname realpath readlink test [ [[ echo printf cd pushd popd pwd jq yq which type
    command sed awk gawk mawk source . export local declare read set unset tsc npm npx pnpm yarn make cargo go curl ssh kill sleep date true false exit return`),
);
const gitReaders = new Set(
  splitList(`log show diff status blame grep ls-files ls-tree rev-parse rev-list cat-file add commit push fetch branch tag remote describe shortlog
    check-ignore name-rev merge-base for-each-ref show-ref help version`),
);
/** Their first operand is a program, which they read. */
const interpreters = /^(ba|da|z|k)?sh$|^(python|node|ruby|perl|deno|bun|php|lua|tsx|ts-node)[\d.]*$/;
/** They write files that an archive, a patch or an address names. */
const unpackers = /^(tar|bsdtar|unzip|7z|cpio|patch|rsync|wget|ar|pax)$/;

export interface PossibleWriteInput {
  program: Program;
  base: string;
  texts: ReadonlySet<ShellWord>;
  scope: PathScope;
}

/** None in a sandbox. */
export function findPossibleWrites(words: readonly ShellWord[], { program, base, texts, scope }: PossibleWriteInput): Subject[] {
  if (scope.isConfined || program.takesOnlyText) return [];
  const rest = words.slice(1);
  const isAny = (unpackers.test(base) && !rest.some(({ text }) => /^-?t[a-z]*$|^--list$/.test(text))) || isGit(base, words, /^(apply|am)$/);
  const any: Subject[] = isAny ? [{ text: words.map(({ text }) => text).join(' '), ...possible, known: '' }] : [];
  if (onlyReads(words, { program, base, scope })) return any;
  const script = interpreters.test(base) ? findOperands(words)[0] : undefined;
  const named = findNamedFiles(
    rest.filter((word) => word !== script),
    texts,
    scope,
  );
  // With such flags these programs certainly write; a list of tools without `write` counts then too.
  const isCertain = ['sed', 'sort', 'uniq', 'dd'].includes(base);
  // Git expands some operands itself.
  const expands = base === 'git' && rest.some(({ text }) => hasPathspecMagic(text));
  const expanded: Subject[] = expands ? [{ text: words.map(({ text }) => text).join(' '), ...possible, known: '' }] : [];
  return [...any, ...expanded, ...named.map(isCertain ? toWrite : toPossibleWrite)];
}

const possible = { alias: true, tool: 'write', possible: true } as const;

/** A file that a command names as one that it may write. */
export function toPossibleWrite(named: Subject): Subject {
  return { ...(named as Exclude<Subject, string>), ...possible };
}

function toWrite(named: Subject): Subject {
  return { ...(named as Exclude<Subject, string>), tool: 'write' };
}

function onlyReads(words: readonly ShellWord[], { program, base, scope }: Omit<PossibleWriteInput, 'texts'>): boolean {
  const [, ...rest] = words;
  if (base === 'git') return isGit(base, words, gitReaders) && !rest.some(({ text }) => /^(-o|--output)/.test(text));
  if (!readers.has(base) || rest.some((word) => isUnsafeFlag(word, program))) return false;
  return !['sed', 'awk', 'gawk', 'mawk', 'uniq'].includes(base) || (program.findProblem?.([...words], scope) ?? null) === null;
}

function isGit(base: string, words: readonly ShellWord[], names: RegExp | ReadonlySet<string>): boolean {
  if (base !== 'git') return false;
  const subcommand = words.find(({ text }, index) => index > 0 && !text.startsWith('-') && !/^-[cC]$/.test(words[index - 1]?.text ?? ''));
  const name = basename(subcommand?.text ?? '');
  return names instanceof RegExp ? names.test(name) : names.has(name);
}
