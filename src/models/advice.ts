// What to say when no model is configured: the shortest ways to one that work on this machine. Names of variables, never their values.
import { ollamaAddress } from './providers/address.ts';

const probeMs = 300;
const maxAnswerBytes = 1024 * 1024;

/** A model of each provider that is neither the dearest nor the weakest; only advice, nothing falls back to it. */
export const advised = {
  anthropic: 'anthropic/claude-sonnet-5',
  openai: 'openai/gpt-5.5',
  google: 'google/gemini-3.5-flash',
  ollama: 'ollama/qwen3',
} as const;

const keys: [variable: string, model: string][] = [
  ['ANTHROPIC_API_KEY', advised.anthropic],
  ['OPENAI_API_KEY', advised.openai],
  ['GOOGLE_GENERATIVE_AI_API_KEY', advised.google],
];

/** Names under which Google's key goes elsewhere. */
const aliases = ['GEMINI_API_KEY', 'GOOGLE_API_KEY'];

export interface AdviceOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Asked whether Ollama answers; it has 300 ms. */
  probe: typeof globalThis.fetch;
}

/** One way to a model, and why it is there. */
export interface Way {
  because: string;
  command: string;
  /** For RETINUE_MODEL. */
  model: string;
}

/** The ways that work here; the first is the shortest. */
export async function modelWays({ env, probe }: AdviceOptions): Promise<Way[]> {
  return [...waysByKey(env), ...(await waysByOllama(env, probe))];
}

export async function modelAdvice(options: AdviceOptions): Promise<string> {
  const found = await modelWays(options);
  return found.length === 0 ? nothingFound() : whatWorks(found);
}

function whatWorks(ways: Way[]): string {
  const width = Math.max(...ways.map((way) => way.because.length));
  return [
    'no model is configured. What works here:',
    '',
    ...ways.map(({ because, command }) => `  ${because.padEnd(width)}   ${command}`),
    '',
    `To keep one: export RETINUE_MODEL=${ways[0]?.model}, or "model": "${ways[0]?.model}" in retinue.config.json.`,
  ].join('\n');
}

function nothingFound(): string {
  return [
    'no model is configured, and there is nothing here to make one of: no key of a provider in the environment, no Ollama that answers.',
    '',
    `  with a key       export ANTHROPIC_API_KEY=…   ${run(advised.anthropic)}`,
    `                   or OPENAI_API_KEY with ${advised.openai}, GOOGLE_GENERATIVE_AI_API_KEY with ${advised.google}`,
    `  on this machine  ollama pull qwen3            ${run(advised.ollama)}`,
    `  without either   ${run('offline/surveyor')}   (rules, no language model)`,
  ].join('\n');
}

function run(model: string): string {
  return `retinue run --model ${model} "…"`;
}

function isSet(env: AdviceOptions['env'], variable: string): boolean {
  return (env[variable] ?? '').trim() !== '';
}

function waysByKey(env: AdviceOptions['env']): Way[] {
  const ways = keys
    .filter(([variable]) => isSet(env, variable))
    .map(([variable, model]): Way => ({ because: `${variable} is set`, command: run(model), model }));
  const alias = isSet(env, 'GOOGLE_GENERATIVE_AI_API_KEY') ? undefined : aliases.find((variable) => isSet(env, variable));
  if (alias !== undefined) {
    const command = `GOOGLE_GENERATIVE_AI_API_KEY="$${alias}" ${run(advised.google)}`;
    ways.push({ because: `${alias} is set`, command, model: advised.google });
  }
  if (isSet(env, 'RETINUE_BASE_URL')) {
    const model = 'openai-compatible/NAME';
    ways.push({ because: 'RETINUE_BASE_URL is set', command: run(model), model });
  }
  return ways;
}

async function waysByOllama(env: AdviceOptions['env'], probe: AdviceOptions['probe']): Promise<Way[]> {
  const models = await ollamaModels(env, probe).catch(() => null);
  if (models === null) return [];
  const [name] = models;
  if (name !== undefined) return [{ because: 'Ollama answers', command: run(`ollama/${name}`), model: `ollama/${name}` }];
  return [{ because: 'Ollama answers', command: `ollama pull qwen3 && ${run(advised.ollama)}`, model: advised.ollama }];
}

/** Rejects where nobody answers in time. A name goes into a command line, so only what needs no quoting counts. */
async function ollamaModels(env: AdviceOptions['env'], probe: AdviceOptions['probe']): Promise<string[]> {
  const address = ollamaAddress(isSet(env, 'OLLAMA_HOST') ? env.OLLAMA_HOST : undefined);
  const signal = AbortSignal.timeout(probeMs);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const asked = probe(`${address}/api/tags`, { signal, redirect: 'error' }).then(async (response) => {
    if (!response.ok || Number(response.headers.get('content-length') ?? 0) > maxAnswerBytes) throw new Error('this is no Ollama');
    return (await response.json()) as { models: { name: string }[] };
  });
  const { models } = await Promise.race([asked, late]);
  return models.map(({ name }) => name).filter((name) => /^[\w.:/-]{1,100}$/.test(name) && !/embed/.test(name));
}
