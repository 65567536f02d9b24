// Agent files of Retinue: Markdown with front matter.
import { join } from 'node:path';
import { parseFrontMatter } from '../front-matter.ts';
import type { AgentFormat } from './format.ts';

export const retinueFormat: AgentFormat = {
  program: 'Retinue',
  folders: ['.retinue/agents'],
  userFolders: ({ config }) => [join(config, 'retinue', 'agents')],
  endings: ['.md'],
  read({ path, text }) {
    const head = parseFrontMatter(path, text);
    return head === null ? [] : [{ source: path, ...head, leftOut: [], problems: [] }];
  },
};
