// The `skill` tool: the text of a skill, or a file of its folder. It reads nothing outside that folder.
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Skill } from '../ports/skill.ts';
import type { Subject } from '../ports/subject.ts';
import type { Tool, ToolContext, ToolResult } from '../ports/tool.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { isClosed } from './files/paths.ts';
import { readWorkspaceFile } from './files/workspace-reader.ts';
import inputSchemas from './input-schemas.json' with { type: 'json' };
import { createToolFailure } from './refusal.ts';

export const skillToolName = 'skill';

const mainFile = 'SKILL.md';
const maxChars = 100_000;
const maxListed = 100;
const maxDepth = 3;
const maxDescription = 300;

const Input = z.strictObject({
  name: z.string().min(1).max(64).describe('The skill, from the list above.'),
  file: z.string().min(1).max(1024).optional().describe('A file of the skill, relative to its folder. Default: its instructions.'),
});
type Input = z.infer<typeof Input>;

/** Null without skills: a tool that can do nothing is not offered. */
export function createSkillTool(skills: readonly Skill[]): Tool<Input> | null {
  if (skills.length === 0) return null;
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  return {
    name: skillToolName,
    description: [
      'Loads the instructions of a skill. Load one before you do work that its description covers, then follow it as far as the task asks for it.',
      'A skill gives you no further rights.',
      `\n\nSkills:\n${skills.map(({ name, description }) => `- ${name}: ${cutText(description)}`).join('\n')}`,
    ].join(' '),
    get input() {
      return Input;
    },
    inputSchema: inputSchemas.skill,
    readOnly: true,
    idempotent: true,
    timeoutMs: 30_000,
    maxOutputBytes: 131_072,
    bySubject: true,
    subjects: ({ name, file }) => toSubjects(byName.get(name) ?? null, name, file ?? mainFile),
    async execute({ name, file }, context) {
      const skill = byName.get(name);
      if (!skill) return createToolFailure(unknownNameMessage('skill', name, [...byName.keys()]));
      return loadFile(skill, file ?? mainFile, context);
    },
  };
}

/** The name, and the path as something that is read: rules about reading can deny it. */
function toSubjects(skill: Skill | null, name: string, file: string): Subject[] {
  return skill === null ? [name] : [name, { text: join(skill.folder, file), alias: true, tool: 'read' }];
}

async function loadFile(skill: Skill, file: string, { workspace, signal, confirmTarget }: ToolContext): Promise<ToolResult> {
  signal.throwIfAborted();
  const folder = await findFolder(skill, workspace);
  if (folder === null) return createToolFailure(`the folder ${skill.folder} of the skill ${skill.name} is not in the files of this run`);
  const read = await readWorkspaceFile(folder.path, file, maxChars);
  if (!read.ok) return createToolFailure(read.reason.replaceAll('the workspace', 'the folder of the skill'));
  const opened = read.subjects.flatMap((path) => toSubjects({ ...skill, folder: folder.shown }, skill.name, String(path)));
  await confirmTarget(opened);
  const cut = read.truncated ? [`[only the first ${maxChars} characters]`] : [];
  const taint = skill.isInWorkspace ? { taint: ['untrusted-file'] } : {};
  if (file !== mainFile) return { output: [read.text, ...cut].join('\n'), ...taint };
  const others = await listOthers(folder.path);
  const more = others.length === 0 ? [] : [`[Further files, for the parameter \`file\`: ${others.join(', ')}]`];
  return { output: [removeHead(read.text), ...cut, ...more].join('\n\n'), ...taint };
}

/** The real folder, and how rules name it. Null if it does not exist, or a link leads out of the workspace. */
async function findFolder({ folder, isInWorkspace }: Skill, workspace: string): Promise<{ path: string; shown: string } | null> {
  try {
    if (!isInWorkspace) return { path: await realpath(folder), shown: folder };
    const [root, path] = [await realpath(workspace), await realpath(join(workspace, folder))];
    const inside = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
    return inside === null || isClosed(inside) ? null : { path, shown: inside };
  } catch {
    return null;
  }
}

/** Links are not listed. */
async function listOthers(root: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [''];
  for (let n = 0; n < folders.length && found.length < maxListed; n++) {
    const at = folders[n] as string;
    const entries = await readdir(join(root, at), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.name.startsWith('.') || path === mainFile) continue;
      if (entry.isDirectory() && path.split('/').length < maxDepth && folders.length < maxListed) folders.push(path);
      else if (entry.isFile() && found.length < maxListed) found.push(path);
    }
  }
  return found;
}

function removeHead(text: string): string {
  return text.replace(/^\ufeff?---[ \t]*\r?\n[\s\S]*?\r?\n---[ \t]*(\r?\n|$)/, '').trim();
}

function cutText(text: string): string {
  return text.length <= maxDescription ? text : `${text.slice(0, maxDescription).toWellFormed()}…`;
}
