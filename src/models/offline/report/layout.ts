import type { FolderData } from '../data.ts';
import type { Overview } from '../join.ts';
import { isCodeLanguage, isSurveyed } from '../languages.ts';
import { code, counted, number, prose, size, some } from '../text.ts';
import type { Top } from '../workspace.ts';

const shownFolders = 40;

/** Folder by folder, what is in it: one line each. */
export function layout({ folders }: Overview, top: Top): string[] {
  const known = new Set(folders.map(({ folder }) => folder));
  const unseen = top.folders.filter((name) => !known.has(name)).map((name) => `- ${code(`${name}/`)}: not surveyed`);
  const all = [...folders.flatMap((data) => (data.folder === null ? [] : [folderLine(data)])), ...unseen];
  const lines =
    all.length <= shownFolders ? all : [...all.slice(0, shownFolders), `- and ${counted(all.length - shownFolders, 'folder')} more`];
  const files = top.files.filter(isSurveyed);
  if (files.length > 0)
    lines.push(
      `- at the top: ${some(
        files.map((name) => code(name)),
        12,
      )}`,
    );
  if (top.leftOut.length > 0)
    lines.push(
      `- left out: ${some(
        top.leftOut.map((name) => code(`${name}/`)),
        12,
      )}`,
    );
  return lines;
}

function folderLine(data: FolderData): string {
  if (data.files === 0 && data.cut.includes('files')) return `- ${code(`${data.folder}/`)}: could not be looked at`;
  const languages = some(
    data.languages.map(([name]) => prose(name, 40)),
    3,
  );
  const facts = [counted(data.files, 'file'), ...(languages === '' ? [] : [languages]), ...(data.sized === 0 ? [] : [size(data.bytes)])];
  const about = data.about === '' ? '' : `. “${prose(data.about, 160)}”`;
  const parts = some(
    data.parts.map(([name, files]) => `${code(name)} ${number(files)}`),
    8,
  );
  return `- ${code(`${data.folder}/`)}: ${facts.join(', ')}${kindOf(data)}${about}${parts === '' ? '' : `. In it: ${parts}`}`;
}

function kindOf({ files, tests, languages }: FolderData): string {
  if (files === 0) return ' (empty)';
  const codeFiles = languages.reduce((sum, [name, count]) => sum + (isCodeLanguage(name) ? count : 0), 0);
  if (tests.files > 0 && tests.files * 2 >= codeFiles) return ' (tests)';
  return codeFiles === 0 ? ' (no code)' : '';
}
