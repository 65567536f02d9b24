// Whether git may have stored files of a folder in another form than they have on disk: with other line ends, or filtered. Then the index of the user says
// nothing about the bytes of the files, and every file has to be read.
import { join } from 'node:path';
import type { Git } from './git.ts';
import { readSmall } from './local-repository.ts';
import { printable, splitNul } from './snapshot.ts';

const settings = /^\s*(autocrlf|eol|attributesfile|worktreeconfig)\s*=/im;
const attributes = /(^|\s)[-!]?(text|eol|crlf|ident|filter|working-tree-encoding)(=|\s|$)/m;

export interface ConversionDeps {
  git: Git;
  gitDir: string;
  /** A copy of the index of the user. */
  index: string;
  top: string;
  signal: AbortSignal;
}

/** `configuration`: the settings and attributes of the repository and of the user. */
export async function needsConversion(configuration: string, { git, gitDir, index, top, signal }: ConversionDeps): Promise<boolean> {
  if (settings.test(configuration) || attributes.test(withoutComments(configuration))) return true;
  const listed = await git(['ls-files', '-z', '-c', '-o', '--exclude-standard'], { gitDir, workTree: top, index, signal });
  for (const path of splitNul(listed.out)) {
    if (path !== '.gitattributes' && !path.endsWith('/.gitattributes')) continue;
    const text = (await readSmall(join(top, printable(path)))) ?? '';
    if (attributes.test(withoutComments(text))) return true;
  }
  return false;
}

function withoutComments(text: string): string {
  return text.replace(/^\s*#.*$/gm, '');
}
