// The form that starts a run: from what the user typed to a brief, and from an error of the server to the field it is about. Pure.
import type { JsonObject } from '../../../../src/contract/json.ts';

/** What the user typed. `denied`: tools of the agent that this run does not get. */
export interface StartForm {
  task: string;
  label: string;
  agent: string;
  model: string;
  context: string;
  /** One path per line. */
  files: string;
  denied: string[];
  maxTurns: string;
  timeout: string;
  maxCostUsd: string;
  maxTokens: string;
  /** One rule per line. */
  rules: string;
  schema: string;
}

export type Field = keyof StartForm;
export type FieldErrors = Partial<Record<Field, string>>;

export const emptyForm: StartForm = {
  ...{ task: '', label: '', agent: 'general', model: '', context: '', files: '', denied: [] },
  ...{ maxTurns: '', timeout: '', maxCostUsd: '', maxTokens: '', rules: '', schema: '' },
};

/** As `POST /api/runs` takes it. Fields that the user left empty are absent. */
export interface StartBrief {
  task: string;
  label?: string;
  agent: string;
  model?: string;
  context?: string;
  files?: string[];
  tools?: { deny: string[] };
  rules?: string[];
  limits?: { maxTurns?: number; timeoutMs?: number; maxCostUsd?: number; maxTokens?: number };
  result?: { schema: JsonObject };
}

/** The brief, or what is wrong with it as far as it can be told here. The server checks the rest. */
export function formToBrief(form: StartForm): { brief: StartBrief; errors: FieldErrors } {
  const errors: FieldErrors = {};
  const read = <T>(field: Field, parse: (text: string) => T | string): T | undefined => {
    const text = (form[field] as string).trim();
    if (text === '') return undefined;
    const value = parse(text);
    if (typeof value !== 'string') return value;
    errors[field] = value;
    return undefined;
  };
  const limits = withoutUndefined({
    maxTurns: read('maxTurns', (text) => parseCount(text, 500)),
    timeoutMs: read('timeout', parseDuration),
    maxCostUsd: read('maxCostUsd', parseMoney),
    maxTokens: read('maxTokens', (text) => parseCount(text, 1_000_000_000)),
  });
  const schema = read('schema', parseSchema);
  if (form.task.trim() === '') errors.task = 'Say what the agent should do.';
  const [files, rules] = [splitLines(form.files), splitLines(form.rules)];
  const optional = {
    ...(form.label.trim() === '' ? {} : { label: form.label.trim() }),
    ...(form.model.trim() === '' ? {} : { model: form.model.trim() }),
    ...(form.context.trim() === '' ? {} : { context: form.context }),
    ...(files.length === 0 ? {} : { files }),
    ...(form.denied.length === 0 ? {} : { tools: { deny: form.denied } }),
    ...(rules.length === 0 ? {} : { rules }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(schema === undefined ? {} : { result: { schema } }),
  };
  return { brief: { task: form.task.trim(), agent: form.agent, ...optional }, errors };
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never;
}

export function splitLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function parseCount(text: string, max: number): number | string {
  const value = Number(text.replaceAll(/[\s_,]/g, ''));
  if (!Number.isInteger(value) || value < 1) return 'A whole number of at least 1.';
  return value > max ? `At most ${max.toLocaleString('en')}.` : value;
}

function parseMoney(text: string): number | string {
  const value = Number(text.replace(/^\$/, ''));
  return Number.isFinite(value) && value > 0 ? value : 'An amount in US dollars, such as 0.50.';
}

/** The longest timeout of a run (contract/limits.ts). */
const maxMs = 2_147_483_647;
const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, '': 1_000 };

/** `90s`, `10m`, `1h30m`; a number without a unit is seconds, as on the command line. */
export function parseDuration(text: string): number | string {
  const compact = text.replaceAll(/\s+/g, '').toLowerCase();
  const parts = [...compact.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|)/g)];
  const isWhole = parts.map(([part]) => part).join('') === compact && parts.length > 0;
  // Of several parts, each needs a unit.
  const isClear = parts.length === 1 || parts.every(([, , unit]) => unit !== '');
  const ms = Math.round(parts.reduce((sum, [, value, unit]) => sum + Number(value) * (unitMs[unit as string] as number), 0));
  if (!isWhole || !isClear || ms < 1) return 'A time such as 90s, 10m or 1h30m.';
  return ms > maxMs ? 'At most 24 days.' : ms;
}

function parseSchema(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
    return 'A JSON Schema is a JSON object.';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

const fieldsByCode: Record<string, Field> = {
  unknown_agent: 'agent',
  unknown_model: 'model',
  unknown_tool: 'denied',
  invalid_rule: 'rules',
  price_unknown: 'maxCostUsd',
};
const fieldsByPath: [RegExp, Field][] = [
  [/^task\b/, 'task'],
  [/^label\b/, 'label'],
  [/^context\b/, 'context'],
  [/^files\b/, 'files'],
  [/^agent\b/, 'agent'],
  [/^model\b/, 'model'],
  [/^tools\b/, 'denied'],
  [/^rules\b/, 'rules'],
  [/^limits\.maxTurns\b/, 'maxTurns'],
  [/^limits\.timeoutMs\b/, 'timeout'],
  [/^limits\.maxCostUsd\b/, 'maxCostUsd'],
  [/^limits\.maxTokens\b/, 'maxTokens'],
  [/^result\b/, 'schema'],
];

/** The field that an error of the server is about; null if it names none. */
export function errorToField({ code, message }: { code?: string; message: string }): Field | null {
  if (code === 'invalid_brief' || code === 'invalid_limit') return fieldsByPath.find(([pattern]) => pattern.test(message))?.[1] ?? null;
  return fieldsByCode[code ?? ''] ?? null;
}
