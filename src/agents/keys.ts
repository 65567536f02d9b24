// The keys of an agent file: those that have an effect, those of the Claude Code format that are refused or ignored, and how to treat unknown ones.
import { clipName, nearestName } from '../text/suggest.ts';

/** Keys with an effect. The first line is from the Claude Code format. */
export const agentKeys = [
  ...['name', 'description', 'tools', 'disallowedTools', 'model', 'effort', 'maxTurns', 'permissionMode', 'mcpServers', 'color'],
  ...['isolation', 'timeout', 'limits', 'rules', 'workspaceRules', 'modelInvocation', 'childTools', 'runs'],
  ...['skills', 'parameters', 'result', 'checks', 'maxCheckRounds', 'hasTask'],
];

/** Keys about rights that Retinue cannot enforce: ignoring them would give the agent more than its author intended. */
const refusedKeys: Record<string, string> = {
  hooks: 'an agent cannot run commands outside its tools',
  env: 'an agent cannot set environment variables',
  allowedTools: 'use `tools`',
  'allowed-tools': 'use `tools`',
  permissions: 'use `rules`, for example `rules: ["deny bash"]`',
  sandbox: 'the configuration sets it, not an agent',
  '<<': 'merging is not supported; write the keys out',
};

/** Known keys without an effect, which are harmless. */
const unusedKeys: Record<string, string> = {
  memory: 'use the tool `memory` instead',
  background: 'the run that delegates decides what runs in the background',
  initialPrompt: 'the task is the first message',
  omitClaudeMd: 'use `workspaceRules: false`',
  autoCompactWindow: 'the configuration decides when a conversation is summarised',
  observer: 'use `checks`',
  observerMessage: 'use `checks`',
  observeSubagents: 'use `checks`',
};

/** Parts of words, and whole words, that show that a key is about rights. */
const rightsStems = /tool|permi|allow|denied|forbid|sandbox|hook|mcp|credential|secret|apikey|isolat|approv|bypass|timeout/i;
const rightsWords = new Set(
  [
    'deny block blocked right rights rule rules server servers env environment key keys trust trusted network internet bash shell command',
    'commands exec execute access grant grants write writes writable readonly limit limits budget max min turn turns depth token tokens cost',
    'mode auth root sudo',
  ].flatMap((line) => line.split(' ')),
);

export function isAboutRights(key: string): boolean {
  const parts = key.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((part) => part.toLowerCase());
  return rightsStems.test(key) || parts.some((part) => rightsWords.has(part)) || /^read.?only$/i.test(key);
}

export type KeyVerdict = { kind: 'known' } | { kind: 'error' | 'warning'; message: string };

export function judgeKey(key: string): KeyVerdict {
  if (agentKeys.includes(key)) return { kind: 'known' };
  const why = lookUp(refusedKeys, key);
  if (why !== undefined) return { kind: 'error', message: `\`${key}\` is refused: ${why}` };
  const unused = lookUp(unusedKeys, key);
  if (unused !== undefined) return { kind: 'warning', message: `\`${key}\` has no effect: ${unused}` };
  const near = nearestName(key, agentKeys);
  const hint = near === null ? '' : `; did you mean \`${near}\`?`;
  const affectsRights = isAboutRights(key) || (near !== null && isAboutRights(near));
  if (affectsRights)
    return { kind: 'error', message: `unknown key \`${clipName(key)}\`${hint} (it seems to be about rights, so it is not ignored)` };
  return { kind: 'warning', message: `unknown key \`${clipName(key)}\`${hint}; it has no effect` };
}

function lookUp(table: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
