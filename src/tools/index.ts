import type { Clock } from '../ports/clock.ts';
import type { Memories, Scratchpads } from '../ports/notes.ts';
import type { AnyTool } from '../ports/tool.ts';
import { type BashOptions, createBash } from './bash.ts';
import { edit } from './edit.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { list } from './list.ts';
import { createMemory } from './memory.ts';
import { read } from './read.ts';
import { createScratchpad } from './scratchpad.ts';
import { todo } from './todo.ts';
import { createWebfetch, type WebfetchOptions } from './webfetch.ts';
import { createWebsearch, type SearchBackend } from './websearch.ts';
import { write } from './write.ts';

export { directories } from './files/workspace-reader.ts';
export type { BashOptions, SearchBackend, WebfetchOptions };

/** The tools that need nothing but a workspace, in the order in which models see them. */
export const tools: AnyTool[] = [read, write, edit, list, glob, grep];

export interface ToolOptions {
  memories: Memories;
  scratchpads: Scratchpads;
  clock: Clock;
  /** Where websearch asks; without it the tool says how to configure one. */
  search?: SearchBackend | null;
  bash: BashOptions;
  web?: WebfetchOptions;
}

/** Those that a run's own process makes, in the place of its supervisor. A shell and the network are not among them: rights are known there alone. */
export const portableTools: AnyTool[] = [...tools, todo];

/** All the tools there are, in the order in which models see them. */
export function builtInTools({ search = null, bash, web = {}, ...notes }: ToolOptions): AnyTool[] {
  return [...tools, createBash(bash), createWebfetch(web), createWebsearch(search), todo, createMemory(notes), createScratchpad(notes)];
}
