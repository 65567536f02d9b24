// Files and memories in the first message of a subagent.
import type { FirstMessage } from '../../ports/dialect.ts';

/** Files and memories for the end of the first message. The source has neither, but a brief from a program may; empty without them. */
export function formatFiles({ files, memories }: Pick<FirstMessage, 'files' | 'memories'>): string {
  const memoryLines = memories.map(({ title, text }) => `\n- ${title}: ${text}`);
  const fileTexts = files.map(({ path, file }) => {
    if (!file.ok) return `\n\nFile ${path} (cannot be read: ${file.reason})`;
    return `\n\nFile ${path}:\n\`\`\`\n${file.text}\n\`\`\`${file.truncated ? '\n[the file has more]' : ''}`;
  });
  return (memoryLines.length === 0 ? '' : `\n\nKnown:${memoryLines.join('')}`) + fileTexts.join('');
}
