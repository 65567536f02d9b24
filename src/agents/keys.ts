// The keys of an agent file: those that count, those of the Claude Code format that cannot count here, and what an unknown one means.

/** What counts. The first line is of the Claude Code format. */
export const keys = [
  ...['name', 'description', 'tools', 'disallowedTools', 'model', 'maxTurns', 'permissionMode', 'mcpServers', 'color'],
  ...['timeout', 'limits', 'rules', 'workspaceRules'],
];

/** Keys that say something about rights which cannot be kept here: to pass over them would give the agent more than its author meant. */
const refused: Record<string, string> = {
  hooks: 'an agent may run no commands of its own outside its tools',
  env: 'an agent may set no variables',
  isolation: 'a run works in the workspace itself, so its author would take it for safer than it is',
  allowedTools: 'write `tools`',
  'allowed-tools': 'write `tools`',
  permissions: 'write `rules`, for example `rules: ["deny bash"]`',
  sandbox: 'that is set in the configuration, not by an agent',
  '<<': 'keys are not merged; write them out',
};

/** Known, harmless and without effect. */
const unused: Record<string, string> = {
  skills: 'skills are not there',
  memory: 'give it the tool `memory` instead',
  background: 'whoever delegates decides what runs in the background',
  effort: 'the model’s own setting holds',
  initialPrompt: 'the task is the first message',
};

/** What says in a key that it is about what an agent may do or use: parts of words that mean little else, and whole words. */
const stems = /tool|permi|allow|denied|forbid|sandbox|hook|mcp|credential|secret|apikey|isolat|approv|bypass|timeout/i;
const words = new Set(
  [
    'deny block blocked right rights rule rules server servers env environment key keys trust trusted network internet bash shell command',
    'commands exec execute access grant grants write writes writable readonly limit limits budget max min turn turns depth token tokens cost',
    'mode auth root sudo',
  ].flatMap((line) => line.split(' ')),
);

function aboutRights(key: string): boolean {
  const parts = key.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((part) => part.toLowerCase());
  return stems.test(key) || parts.some((part) => words.has(part)) || /^read.?only$/i.test(key);
}

export type KeyVerdict = { kind: 'counts' } | { kind: 'error' | 'warning'; message: string };

/** What an agent file's key means. `nearest` finds the likeliest of the right keys. */
export function judgeKey(key: string, nearest: (word: string, candidates: readonly string[]) => string | null): KeyVerdict {
  if (keys.includes(key)) return { kind: 'counts' };
  const why = own(refused, key);
  if (why !== undefined) return { kind: 'error', message: `\`${key}\` is refused: ${why}` };
  const idle = own(unused, key);
  if (idle !== undefined) return { kind: 'warning', message: `\`${key}\` has no effect: ${idle}` };
  const near = nearest(key, keys);
  const hint = near === null ? '' : `; did you mean \`${near}\`?`;
  const touches = aboutRights(key) || (near !== null && aboutRights(near));
  if (touches)
    return { kind: 'error', message: `unknown key \`${clip(key)}\`${hint} (it seems to be about rights, so it is not passed over)` };
  return { kind: 'warning', message: `unknown key \`${clip(key)}\`${hint}; it has no effect` };
}

function own(table: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
