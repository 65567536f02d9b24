// Finds skills: folders with a SKILL.md in the skill folders of the user and of the workspace.
import { readdirSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type ParsedSkill, parseSkill } from '../agents/skill.ts';
import { isRetinueError } from '../contract/error.ts';
import type { Skill } from '../ports/skill.ts';
import { isSameFolder, leadsOutOf, toUserFolders } from './agent-files.ts';
import { readBytes } from './files.ts';
import type { ConfiguredSkills } from './settings.ts';
import type { Env } from './user-folders.ts';

const maxFileBytes = 262_144;
const maxSkills = 100;
const fileName = 'SKILL.md';

/** In the order in which they win over each other. */
const workspaceFolders = [
  '.agents/skills',
  '.claude/skills',
  '.opencode/skills',
  '.opencode/skill',
  '.gemini/skills',
  '.codex/skills',
  '.github/skills',
];

function userSkillFolders(env: Env): string[] {
  const { home, config, variable } = toUserFolders(env);
  return [
    join(home, '.agents', 'skills'),
    join(variable('CLAUDE_CONFIG_DIR') ?? join(home, '.claude'), 'skills'),
    join(config, 'opencode', 'skills'),
    join(config, 'opencode', 'skill'),
    join(home, '.gemini', 'skills'),
    join(variable('CODEX_HOME') ?? join(home, '.codex'), 'skills'),
    join(home, '.copilot', 'skills'),
  ];
}

/** Yours win over the workspace's: a workspace cannot replace what you rely on. */
export function loadSkills(workspace: string, env: Env): ConfiguredSkills {
  const found: ConfiguredSkills = { list: [], hidden: [], warnings: [], leftOut: [] };
  const own = userSkillFolders(env);
  for (const folder of own) addSkills(folder, null, found);
  for (const folder of workspaceFolders.map((each) => join(workspace, each)))
    if (!own.some((other) => isSameFolder(folder, other))) addSkills(folder, workspace, found);
  if (found.list.length > maxSkills) {
    const dropped = found.list.splice(maxSkills);
    found.warnings.push({
      source: dropped[0]?.source ?? '',
      message: `only ${maxSkills} skills are offered; ${dropped.length} are left out`,
    });
  }
  return found;
}

function addSkills(folder: string, workspace: string | null, found: ConfiguredSkills): void {
  for (const name of listFolders(folder)) {
    const path = join(folder, name, fileName);
    const source = workspace === null ? path : relative(workspace, path);
    const warn = (message: string) => void found.warnings.push({ source, message });
    if (workspace !== null && (leadsOutOf(workspace, join(folder, name)) || leadsOutOf(workspace, path))) {
      warn('not read: it is a link that leads out of the workspace');
      continue;
    }
    const parsed = readSkill(path, source, name, warn);
    if (parsed === null) continue;
    if (parsed.isOff) {
      warn('it is not offered: its file says that no model may load it');
      continue;
    }
    const taken = found.list.find((skill) => skill.name === parsed.name);
    if (taken) found.hidden.push({ name: parsed.name, source, by: taken.source });
    else {
      found.list.push(toSkill(parsed, { source, folder: join(folder, name), workspace }));
      found.leftOut.push(...parsed.leftOut.map((each) => ({ ...each, source })));
    }
  }
}

function toSkill({ name, description }: ParsedSkill, at: { source: string; folder: string; workspace: string | null }): Skill {
  const { source, folder, workspace } = at;
  const isInWorkspace = workspace !== null;
  return { name, description, source, folder: isInWorkspace ? relative(workspace, folder) : realpathSync(folder), isInWorkspace };
}

/** Null if there is no such file, or it is invalid, which is said. */
function readSkill(path: string, source: string, name: string, warn: (message: string) => void): ParsedSkill | null {
  try {
    const bytes = readBytes(path, maxFileBytes);
    if (bytes === null) return null;
    if (bytes.length > maxFileBytes) {
      warn(`it is ignored: it is larger than ${maxFileBytes} bytes`);
      return null;
    }
    return parseSkill({ path: source, text: new TextDecoder().decode(bytes) }, name);
  } catch (error) {
    if (!isRetinueError(error) && !(error instanceof RangeError)) throw error;
    warn(`it is ignored: ${error.message}`);
    return null;
  }
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort()
      .slice(0, 1000);
  } catch {
    return [];
  }
}
