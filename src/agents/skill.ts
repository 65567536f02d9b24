// Parses the file SKILL.md of a skill, as the Agent Skills specification defines it, with the further keys of Claude Code.
import { toOneLine } from './fields.ts';
import type { AgentFile, LeftOut } from './formats/format.ts';
import { createProblem, parseFrontMatter } from './front-matter.ts';

export interface ParsedSkill {
  name: string;
  description: string;
  leftOut: LeftOut[];
  /** Its file says that no model may load it. */
  isOff: boolean;
}

const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const rights = 'a skill grants nothing: the rules of the run decide';
const ofClaude = 'it is about Claude Code';

const leftOutKeys: Record<string, string> = {
  'allowed-tools': rights,
  'disallowed-tools': 'a skill changes no rights: the rules of the run decide',
  hooks: 'commands of hooks are never run',
  model: 'the model of the run is used',
  effort: 'the setting of the run is used',
  context: 'the agent that loads the skill follows it',
  agent: 'the agent that loads the skill follows it',
  paths: 'the skill is always offered',
  shell: 'commands in its text are not run',
  arguments: ofClaude,
  'argument-hint': ofClaude,
  'user-invocable': ofClaude,
  compatibility: 'it is not checked',
};
const harmlessKeys = ['name', 'description', 'when_to_use', 'license', 'metadata', 'version', 'disable-model-invocation'];

/** `folder`: the name of the skill's folder. Throws `invalid_config` with file and line. */
export function parseSkill({ path, text }: AgentFile, folder: string): ParsedSkill {
  const head = parseFrontMatter(path, text);
  if (head === null)
    throw createProblem(path, 1, 'a skill begins with front matter: three dashes, `name: …`, `description: …`, three dashes');
  const value = (key: string) => head.entries.find((entry) => entry.key === key)?.value;
  const name = value('name') ?? folder;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw createProblem(path, 1, '`name` must be up to 64 lower-case letters, digits, - and _');
  const parts = [value('description'), value('when_to_use')].filter((part) => typeof part === 'string');
  const description = toOneLine(parts.join(' '));
  if (description === '') throw createProblem(path, 1, '`description` is missing, so a model could not tell when to use the skill');
  const leftOut = head.entries.flatMap(({ key }): LeftOut[] => {
    if (harmlessKeys.includes(key)) return [];
    return [
      {
        what: `\`${key.slice(0, 60)}\``,
        why: Object.hasOwn(leftOutKeys, key) ? (leftOutKeys[key] as string) : 'Retinue does not know this key',
      },
    ];
  });
  if (/(^|\s)!`/.test(head.body))
    leftOut.push({ what: 'commands in its text (!`…`)', why: 'they are never run; the model reads them as text' });
  return { name, description, leftOut, isOff: value('disable-model-invocation') === true };
}
