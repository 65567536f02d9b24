// Recipes of Goose: YAML or JSON files with instructions, parameters, extensions, a form of the result and checks.
import { basename, join } from 'node:path';
import type { Json } from '../../contract/json.ts';
import { type FrontMatterEntry, parseYamlFile } from '../front-matter.ts';
import { setTurns } from './claude.ts';
import { type AgentFormat, isObject, type KeyTable, nameAgent, type Translation, translateEntries } from './format.ts';
import { addExtensions } from './goose-extensions.ts';

const defaultCheckSeconds = 300;
const maxRounds = 20;
const providers = ['anthropic', 'openai', 'google', 'ollama'];

const table: KeyTable = {
  version: () => {},
  title: () => {},
  description: () => {},
  instructions: addText,
  prompt(value, to) {
    addText(value, to);
    to.set('hasTask', true);
  },
  parameters: addParameters,
  extensions: addExtensions,
  settings: addSettings,
  response(value, to) {
    if (!isObject(value)) return void to.refuse('`response` must have a `json_schema`');
    if (value.json_schema !== undefined) to.set('result', { schema: value.json_schema });
  },
  retry: addRetry,
  sub_recipes: { leftOut: 'use recipes in a recipe folder: an agent that may delegate can choose them' },
  activities: { leftOut: 'they are shown only in Goose Desktop' },
  author: { leftOut: 'it has no effect' },
};

export const gooseFormat: AgentFormat = {
  program: 'Goose',
  folders: ['.goose/recipes', '.agents/recipes'],
  userFolders: ({ home, config }) => [join(config, 'goose', 'recipes'), join(home, '.agents', 'recipes')],
  endings: ['.yaml', '.yml', '.json'],
  read({ path, text }, stem) {
    const entries = unwrap(parseYamlFile(path, text));
    const value = (key: string) => entries.find((entry) => entry.key === key)?.value;
    const order = ['instructions', 'prompt'];
    // The task comes after the instructions, in whatever order the file has them.
    const sorted = [...entries].sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
    const raw = translateEntries({ source: path, path }, { entries: sorted, body: '' }, table);
    const description = [value('title'), value('description')].filter((part) => typeof part === 'string' && part.trim() !== '').join(': ');
    raw.entries.push({ key: 'description', value: description || basename(path), line: 1 });
    return [nameAgent(raw, path, [stem])];
  },
};

/** A recipe that was exported is below the key `recipe`. */
function unwrap(entries: FrontMatterEntry[]): FrontMatterEntry[] {
  const inner = entries.find(({ key }) => key === 'recipe');
  if (!inner || !isObject(inner.value)) return entries;
  return Object.entries(inner.value).map(([key, value]) => ({ key, value, line: inner.line }));
}

function addText(value: Json, to: Translation): void {
  if (typeof value !== 'string') return void to.refuse('instructions and prompt must be texts');
  if (/\{%|\{#/.test(value))
    return void to.refuse('template statements such as `{% if … %}` are not supported; only `{{ name }}` is filled in');
  to.addPrompt(value);
}

function addParameters(value: Json, to: Translation): void {
  if (!Array.isArray(value)) return void to.refuse('`parameters` must be a list');
  const parameters = value.map((item): Json => {
    if (!isObject(item)) return item;
    const { key, input_type, requirement, description, default: given, options } = item;
    if (requirement === 'optional' && given === undefined && input_type !== 'file')
      to.leaveOut(`parameter ${String(key)}: \`requirement: optional\``, 'without a default it needs a value');
    const isDefault = given !== undefined && requirement !== 'required';
    return {
      name: key ?? null,
      ...(input_type !== undefined && { type: input_type }),
      ...(typeof description === 'string' && { description: description.slice(0, 1_000) }),
      ...(isDefault && { default: typeof given === 'string' ? given : JSON.stringify(given) }),
      ...(options !== undefined && { options: Array.isArray(options) ? options.map(String) : options }),
    };
  });
  to.set('parameters', parameters);
}

function addSettings(value: Json, to: Translation): void {
  if (!isObject(value)) return void to.refuse('`settings` must be keys and values');
  const { goose_provider: provider, goose_model: model, max_turns, temperature, ...rest } = value;
  if (max_turns !== undefined) setTurns(max_turns, to);
  if (typeof provider === 'string' && typeof model === 'string' && providers.includes(provider)) to.set('model', `${provider}/${model}`);
  else if (provider !== undefined || model !== undefined)
    to.leaveOut('`settings.goose_model`', 'Retinue needs a provider that it knows, and a model');
  for (const key of [...(temperature === undefined ? [] : ['temperature']), ...Object.keys(rest)])
    to.leaveOut(`\`settings.${key}\``, 'the setting of the model is used');
}

/** Here a failed check goes back to the agent; Goose begins again. */
function addRetry(value: Json, to: Translation): void {
  if (!isObject(value)) return void to.refuse('`retry` must be keys and values');
  const { max_retries = 3, checks = [], timeout_seconds = defaultCheckSeconds, on_failure, on_failure_timeout_seconds: _ } = value;
  if (on_failure !== undefined) to.leaveOut('`retry.on_failure`', 'commands beside the agent are never run');
  if (!Array.isArray(checks)) return void to.refuse('`retry.checks` must be a list');
  const seconds = typeof timeout_seconds === 'number' && timeout_seconds > 0 ? timeout_seconds : defaultCheckSeconds;
  const found = checks.flatMap((check): Json[] => {
    if (isObject(check) && check.type === 'shell' && typeof check.command === 'string')
      return [{ command: check.command, timeoutMs: Math.min(3_600_000, Math.ceil(seconds * 1000)) }];
    to.refuse('`retry.checks`: only checks of the type `shell` are supported');
    return [];
  });
  if (found.length > 0) to.set('checks', found);
  if (typeof max_retries === 'number' && found.length > 0)
    to.set('maxCheckRounds', Math.min(maxRounds, Math.max(1, Math.floor(max_retries) + 1)));
}
