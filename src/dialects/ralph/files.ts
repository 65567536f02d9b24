import type { FirstMessage } from '../../ports/dialect.ts';

/** Files and memories behind a first message whose source has none: a program may give them all the same. Empty where there are none. */
export function filesText({ files, memories }: Pick<FirstMessage, 'files' | 'memories'>): string {
  const known = memories.map(({ title, text }) => `\n- ${title}: ${text}`);
  const read = files.map(({ path, file }) => {
    if (!file.ok) return `\n\nFile ${path} (could not be read: ${file.reason})`;
    return `\n\nFile ${path}:\n\`\`\`\n${file.text}\n\`\`\`${file.truncated ? '\n[the file has more]' : ''}`;
  });
  return (known.length === 0 ? '' : `\n\nKnown:${known.join('')}`) + read.join('');
}
