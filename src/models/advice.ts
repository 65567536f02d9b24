// What a user can do if no model is configured: the models that this machine can already use. Messages contain names of variables, never values.
import { ollamaBaseUrl } from './providers/base-url.ts';

const probeMs = 300;
const maxAnswerBytes = 1024 * 1024;

/** A mid-range model of each provider. These are suggestions only; nothing falls back to them. */
export const recommendedModels = {
  anthropic: 'anthropic/claude-sonnet-5',
  openai: 'openai/gpt-5.5',
  google: 'google/gemini-3.5-flash',
  ollama: 'ollama/qwen3',
} as const;

const keyVariables: [variable: string, model: string][] = [
  ['ANTHROPIC_API_KEY', recommendedModels.anthropic],
  ['OPENAI_API_KEY', recommendedModels.openai],
  ['GOOGLE_GENERATIVE_AI_API_KEY', recommendedModels.google],
];

/** Other names that are in use for Google's key. */
const googleKeyAliases = ['GEMINI_API_KEY', 'GOOGLE_API_KEY'];

export interface AdviceOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Used to find out whether Ollama runs; it has 300 ms. */
  probe: typeof globalThis.fetch;
}

/** A model that can be used, and why. */
export interface ModelOption {
  reason: string;
  command: string;
  /** For RETINUE_MODEL. */
  model: string;
}

/** The simplest option comes first. */
export async function findModelOptions({ env, probe }: AdviceOptions): Promise<ModelOption[]> {
  return [...optionsByKey(env), ...(await optionsByOllama(env, probe))];
}

/** Names of the models whose key is set. */
export function listKeyedModels(env: AdviceOptions['env']): string[] {
  return keyVariables.filter(([variable]) => isSet(env, variable)).map(([, model]) => model);
}

export async function describeModelOptions(options: AdviceOptions): Promise<string> {
  const found = await findModelOptions(options);
  return found.length === 0 ? formatNoOptions() : formatOptions(found);
}

function formatOptions(options: ModelOption[]): string {
  const width = Math.max(...options.map(({ reason }) => reason.length));
  return [
    'no model is configured. You can use:',
    '',
    ...options.map(({ reason, command }) => `  ${reason.padEnd(width)}   ${command}`),
    '',
    `To make it the default: retinue models use ${options[0]?.model}`,
  ].join('\n');
}

function formatNoOptions(): string {
  return [
    'no model is configured, and no API key or local Ollama server was found.',
    '',
    `  with an API key  export ANTHROPIC_API_KEY=…   ${runCommand(recommendedModels.anthropic)}`,
    `                   or OPENAI_API_KEY with ${recommendedModels.openai}, GOOGLE_GENERATIVE_AI_API_KEY with ${recommendedModels.google}`,
    `  on this machine  ollama pull qwen3            ${runCommand(recommendedModels.ollama)}`,
    `  without a model  ${runCommand('offline/surveyor')}   (fixed rules, no language model)`,
  ].join('\n');
}

function runCommand(model: string): string {
  return `retinue run --model ${model} "…"`;
}

function isSet(env: AdviceOptions['env'], variable: string): boolean {
  return (env[variable] ?? '').trim() !== '';
}

function optionsByKey(env: AdviceOptions['env']): ModelOption[] {
  const options = keyVariables
    .filter(([variable]) => isSet(env, variable))
    .map(([variable, model]): ModelOption => ({ reason: `${variable} is set`, command: runCommand(model), model }));
  const alias = isSet(env, 'GOOGLE_GENERATIVE_AI_API_KEY') ? undefined : googleKeyAliases.find((variable) => isSet(env, variable));
  if (alias !== undefined) {
    const command = `GOOGLE_GENERATIVE_AI_API_KEY="$${alias}" ${runCommand(recommendedModels.google)}`;
    options.push({ reason: `${alias} is set`, command, model: recommendedModels.google });
  }
  if (isSet(env, 'RETINUE_BASE_URL')) {
    const model = 'openai-compatible/NAME';
    options.push({ reason: 'RETINUE_BASE_URL is set', command: runCommand(model), model });
  }
  return options;
}

async function optionsByOllama(env: AdviceOptions['env'], probe: AdviceOptions['probe']): Promise<ModelOption[]> {
  // No answer means that Ollama does not run here, which is no error.
  const models = await listOllamaModels(env, probe).catch(() => null);
  if (models === null) return [];
  const [name] = models;
  if (name !== undefined) return [{ reason: 'Ollama is running', command: runCommand(`ollama/${name}`), model: `ollama/${name}` }];
  return [
    {
      reason: 'Ollama is running',
      command: `ollama pull qwen3 && ${runCommand(recommendedModels.ollama)}`,
      model: recommendedModels.ollama,
    },
  ];
}

/** Names of local models. Rejects if Ollama does not answer in time. Names end up in a command line, so those that need quoting are left out. */
export async function listOllamaModels(env: AdviceOptions['env'], probe: AdviceOptions['probe']): Promise<string[]> {
  const address = ollamaBaseUrl(isSet(env, 'OLLAMA_HOST') ? env.OLLAMA_HOST : undefined);
  const signal = AbortSignal.timeout(probeMs);
  const timeout = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const answer = probe(`${address}/api/tags`, { signal, redirect: 'error' }).then(async (response) => {
    if (!response.ok || Number(response.headers.get('content-length') ?? 0) > maxAnswerBytes) throw new Error('not an Ollama server');
    return (await response.json()) as { models: { name: string }[] };
  });
  const { models } = await Promise.race([answer, timeout]);
  return models.map(({ name }) => name).filter((name) => /^[\w.:/-]{1,100}$/.test(name) && !/embed/.test(name));
}
