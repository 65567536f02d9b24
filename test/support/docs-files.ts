// What a page of the documentation tells you to save: "Save this as `PATH`", and the code below it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const docs = resolve(import.meta.dirname, '../../docs');

/** Files of a page by path, as printed. */
function filesOfPage(page: string): Map<string, string> {
  const text = readFileSync(join(docs, page), 'utf8');
  const blocks = text.matchAll(/[Ss]ave this as `([^`]+)`(?:(?!\n\n|```)[\s\S])*:\n\n```\w+\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, path = '', code = '']) => [path, code]));
}

/** Saves the files of a page in a folder, as a reader of it would. */
export function saveFilesOfPage(page: string, folder: string): Map<string, string> {
  const files = filesOfPage(page);
  for (const [path, code] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  return files;
}
