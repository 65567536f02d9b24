// Whether git may have stored files of a folder in another form than they have on disk: with other line ends, or filtered. Then the index of the user says
// nothing about the bytes of the files, and every file has to be read.
import { join } from 'node:path';
import { readSmall } from './local-repository.ts';
import { toPrintable } from './snapshot.ts';

const settings = /^\s*(autocrlf|eol|attributesfile|worktreeconfig)\s*=/im;
const attributes = /(^|\s)[-!]?(text|eol|crlf|ident|filter|working-tree-encoding)(=|\s|$)/m;

export interface ConversionDeps {
  /** The settings and attributes of the repository and of the user. */
  configuration: string;
  top: string;
}

/** `paths`: of all files that are not ignored, as `splitNul` gives them. */
export async function needsConversion(paths: Iterable<string>, { configuration, top }: ConversionDeps): Promise<boolean> {
  if (settings.test(configuration) || attributes.test(withoutComments(configuration))) return true;
  for (const path of paths) {
    if (path !== '.gitattributes' && !path.endsWith('/.gitattributes')) continue;
    const text = (await readSmall(join(top, toPrintable(path)))) ?? '';
    if (attributes.test(withoutComments(text))) return true;
  }
  return false;
}

function withoutComments(text: string): string {
  return text.replace(/^\s*#.*$/gm, '');
}
