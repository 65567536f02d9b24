// The built-in tools. One file here is one tool (read, write, edit, list, glob, grep, bash, webfetch, websearch, todo, memory, scratchpad, skill); what several of
// them need is in a folder:
//
//   files/       paths, confinement to the workspace, reading and replacing files
//   search/      ripgrep, for glob and grep
//   shell/       analysis of commands for rules, and running them
//   web/         requests to public addresses, HTML to Markdown
//   mcp/         tools of MCP servers
//   ai-sdk.ts    tools written for the AI SDK
//   json-schema.ts  checks against JSON Schemas, for results and for arguments of MCP tools
//
// Which tools a run may use is not decided here but by rules in the kernel; a tool only says what its call is about (`subjects`).
import type { Clock } from '../ports/clock.ts';
import type { Memories, Scratchpads } from '../ports/notes.ts';
import type { Skill } from '../ports/skill.ts';
import type { AnyTool } from '../ports/tool.ts';
import { type BashOptions, createBash } from './bash.ts';
import { edit } from './edit.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { list } from './list.ts';
import { createMemory } from './memory.ts';
import { read } from './read.ts';
import { createScratchpad } from './scratchpad.ts';
import { createSkillTool, skillToolName } from './skill.ts';
import { todo } from './todo.ts';
import { createWebfetch, type WebfetchOptions } from './webfetch.ts';
import { createWebsearch, type SearchBackend } from './websearch.ts';
import { write } from './write.ts';

export { createWorkspaceReader, readWorkspaceFile } from './files/workspace-reader.ts';
export type { BashOptions, SearchBackend, WebfetchOptions };
export { skillToolName };

/** The tools that need only a workspace, in the order in which models see them. */
export const workspaceTools: AnyTool[] = [read, write, edit, list, glob, grep];

export interface ToolOptions {
  memories: Memories;
  scratchpads: Scratchpads;
  clock: Clock;
  /** The search engine of websearch; without it the tool explains how to configure one. */
  search?: SearchBackend | null;
  bash: BashOptions;
  web?: WebfetchOptions;
  /** Folders outside the workspace that tools may read. The descriptions name them. */
  readable?: readonly string[] | undefined;
  /** Without any, there is no tool `skill`. */
  skills?: readonly Skill[] | undefined;
}

/** The tools that the process of a run executes itself. Shell and network stay with the supervisor, because only it knows the rights. */
export const portableTools: AnyTool[] = [...workspaceTools, todo];

/** All built-in tools, in the order in which models see them. */
export function builtInTools({ search = null, bash, web = {}, readable = [], skills = [], ...notes }: ToolOptions): AnyTool[] {
  const skill = createSkillTool(skills);
  return [
    ...workspaceTools.map((tool) => describeReadable(tool, readable)),
    createBash(bash),
    createWebfetch(web),
    createWebsearch(search),
    todo,
    createMemory(notes),
    createScratchpad(notes),
    ...(skill ? [skill] : []),
  ];
}

/** Only tools that read reach the added folders. */
function describeReadable(tool: AnyTool, readable: readonly string[]): AnyTool {
  if (readable.length === 0 || !tool.readOnly) return tool;
  return { ...tool, description: `${tool.description} These folders can be read too, by absolute path: ${readable.join(', ')}.` };
}
