import type { AnyTool } from '../ports/tool.ts';
import { list } from './list.ts';
import { read } from './read.ts';
import { write } from './write.ts';

export { directories } from './workspaces.ts';

/** The tools there are, in the order in which models see them. */
export const tools: AnyTool[] = [read, write, list];
