// Agents of opencode: Markdown files with front matter, and the key `agent` of its configuration. Everything is allowed there that is not denied.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Json } from '../../contract/json.ts';
import { createProblem, type FrontMatterEntry, parseFrontMatter } from '../front-matter.ts';
import { setTurns } from './claude.ts';
import { type AgentFormat, isObject, type KeyTable, nameAgent, type RawAgent, type Translation, translateEntries } from './format.ts';
import { addPermissionList, addPermissions, addToolSwitches } from './opencode-permissions.ts';

const ruleKeys = ['tools', 'permission', 'permissions'];
const ofModel = { leftOut: 'the setting of the model is used' };
const ofScreen = { leftOut: 'it is about the screen of opencode' };

const table: KeyTable = {
  name: () => {},
  description: 'description',
  model: 'model',
  steps: setTurns,
  maxSteps: setTurns,
  prompt: addPrompt,
  system: addPrompt,
  tools: addToolSwitches,
  permission: addPermissions,
  permissions: addPermissionList,
  mode: { leftOut: 'users and delegating agents may choose every agent' },
  hidden: ofScreen,
  color: ofScreen,
  temperature: ofModel,
  top_p: ofModel,
  variant: ofModel,
  options: ofModel,
  request: ofModel,
  reasoningEffort: 'effort',
  textVerbosity: ofModel,
  disable: () => {},
  disabled: () => {},
};

export const opencodeFormat: AgentFormat = {
  program: 'opencode',
  folders: ['.opencode/agent', '.opencode/agents'],
  userFolders: ({ config }) => [join(config, 'opencode', 'agent'), join(config, 'opencode', 'agents')],
  endings: ['.md'],
  read({ path, text }, stem) {
    const head = parseFrontMatter(path, text);
    return head === null ? [] : readAgent({ source: path, path }, head, stem);
  },
};

export const opencodeConfigFormat: AgentFormat = {
  program: 'opencode',
  folders: ['.', '.opencode'],
  userFolders: ({ config }) => [join(config, 'opencode')],
  endings: ['.json', '.jsonc'],
  fileNames: ['opencode.json', 'opencode.jsonc'],
  read({ path, text }) {
    return parseAgents(path, text).flatMap(([name, entries]) =>
      readAgent({ source: `${path}#${name.slice(0, 64)}`, path }, { entries, body: '' }, name),
    );
  },
};

/** An agent that its file disables is none. */
function readAgent(file: { source: string; path: string }, head: { entries: FrontMatterEntry[]; body: string }, stem: string): RawAgent[] {
  if (head.entries.some(({ key, value }) => ['disable', 'disabled'].includes(key) && value === true)) return [];
  const given = head.entries.find(({ key }) => key === 'name')?.value;
  // The last rule decides, and `permission` wins over `tools`, wherever they are in the file.
  const entries = head.entries.toSorted((a, b) => ruleKeys.indexOf(a.key) - ruleKeys.indexOf(b.key));
  return [nameAgent(translateEntries(file, { ...head, entries }, table), file.path, [given, stem])];
}

function addPrompt(value: Json, to: Translation): void {
  if (typeof value !== 'string') return void to.refuse('the prompt must be a text');
  // The trusted file would no longer be all that counts.
  if (/^\s*\{(file|env):/.test(value))
    return void to.refuse('the prompt is in another file, which Retinue does not read; write it into this one');
  to.addPrompt(value);
}

/** The agents of a configuration by name. Nothing else of it counts. */
function parseAgents(file: string, text: string): [string, FrontMatterEntry[]][] {
  const { parse } = createRequire(import.meta.url)('jsonc-parser') as typeof import('jsonc-parser');
  const errors: { offset: number }[] = [];
  const config = parse(text, errors as never, { allowTrailingComma: true }) as Json | undefined;
  const [first] = errors;
  if (first) throw createProblem(file, text.slice(0, first.offset).split('\n').length, 'not valid JSON');
  const found = isObject(config) ? [config.agent, config.agents].filter(isObject) : [];
  return found.flatMap((agents) =>
    Object.entries(agents).flatMap(([name, fields]): [string, FrontMatterEntry[]][] => {
      if (!isObject(fields) || (fields.prompt === undefined && fields.system === undefined)) return [];
      const line = Math.max(1, text.split('\n').findIndex((each) => each.includes(JSON.stringify(name))) + 1);
      return [[name, Object.entries(fields).map(([key, value]) => ({ key, value, line }))]];
    }),
  );
}
