// `retinue models` and `retinue init`: what this machine can use, and choosing it once, checked with a call to a provider over HTTP.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ListedModel } from '../../src/config/model-choice.ts';
import { type ProviderServer, startProviderServer } from '../../src/testing/provider-server.ts';
import { type CliOptions, createCli } from './support.ts';

const key = 'sk-ant-canary-0123456789abcdefghij';
let server: ProviderServer;

beforeAll(async () => {
  server = await startProviderServer({
    models: ['qwen3:8b', 'nomic-embed-text'],
    answer: ({ body }) =>
      JSON.stringify(body).includes('broken') ? { fault: { kind: 'status', status: 401, message: `invalid key ${key}` } } : { text: 'OK' },
  });
});
afterAll(() => server.close());

function createMachine(options: CliOptions = {}) {
  const env = { RETINUE_MODEL: '', ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: server.url, OLLAMA_HOST: server.url };
  const cli = createCli({ ...options, env: { ...env, ...options.env } });
  const file = join(cli.folder, '..', 'home', '.config', 'retinue', 'config.json');
  return { cli, file, saved: () => JSON.parse(readFileSync(file, 'utf8')) as object };
}

const sonnet = 'anthropic/claude-sonnet-5';

describe('models', () => {
  it('lists what keys and local servers offer, with prices; an unknown price is not 0', async () => {
    const { cli } = createMachine();
    using _ = cli;
    const models = await cli.json<ListedModel[]>('models');
    expect(models.map(({ name, reason }) => [name, reason])).toEqual([
      [sonnet, 'ANTHROPIC_API_KEY is set'],
      ['ollama/qwen3:8b', 'Ollama is running'],
    ]);
    expect(models[1]?.price).toBeNull();
    const { stdout } = await cli.run(['models']);
    expect(stdout).toMatch(/^ *MODEL +INPUT +OUTPUT/);
    expect(stdout).toMatch(/ollama\/qwen3:8b +unknown +unknown/);
    expect(stdout).not.toContain(key);
  });

  it('says what to do if there are none', async () => {
    const { cli } = createMachine({ env: { ANTHROPIC_API_KEY: '', OLLAMA_HOST: 'http://127.0.0.1:1' } });
    using _ = cli;
    expect(await cli.run(['models'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('no API key or local Ollama server was found'),
    });
  });

  it('use: makes a call, then a model the default of every run; other settings stay', async () => {
    const { cli, saved } = createMachine();
    using _ = cli;
    cli.write('../home/.config/retinue/config.json', { limits: { maxTurns: 7 } });
    const asked = server.requests.length;
    const { code, stdout } = await cli.run(['models', 'use', sonnet]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^anthropic\/claude-sonnet-5 answered in .* and is your default now/)]);
    expect(server.requests.length).toBe(asked + 1);
    expect(saved()).toEqual({ limits: { maxTurns: 7 }, model: sonnet });
    expect((await cli.json<ListedModel[]>('models'))[0]).toMatchObject({ name: sonnet, isDefault: true });
    const { values } = await cli.json<{ values: Record<string, { value: unknown }> }>('config');
    expect(values.model?.value).toBe(sonnet);
  });

  it('use: writes nothing if the model does not answer, and never prints a key', async () => {
    const { cli, file } = createMachine();
    using _ = cli;
    const { code, stdout, stderr } = await cli.run(['models', 'use', 'anthropic/broken']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/anthropic\/broken did not answer, so nothing was changed: auth: /);
    expect(stderr).not.toContain(key);
    expect((await cli.run(['models', 'use', 'nowhere/x'])).stderr).toContain('there is no provider "nowhere"');
    expect(existsSync(file)).toBe(false);
  });

  it('use: says if a variable still chooses another one', async () => {
    const { cli } = createMachine({ env: { RETINUE_MODEL: 'ollama/qwen3:8b' } });
    using _ = cli;
    expect((await cli.run(['models', 'use', sonnet])).stderr).toContain('here RETINUE_MODEL still chooses ollama/qwen3:8b');
  });

  it.each([
    [['models', 'use'], /the model is missing/],
    [['models', 'list'], /unexpected argument `list`; usage: retinue models use NAME/],
  ])('%j is wrong', async (argv, message) => {
    const { cli } = createMachine();
    using _ = cli;
    expect(await cli.run(argv)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});

describe('init', () => {
  it.each([
    ['2', 'ollama/qwen3:8b'],
    [sonnet, sonnet],
  ])('asks for a model; the answer %s is %s', async (answer, name) => {
    const { cli, saved } = createMachine();
    using _ = cli;
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answer;
    };
    const result = await cli.run(['init'], { interactive: true, ask });
    expect([result.code, result.stderr]).toEqual([0, expect.stringMatching(/1 +anthropic[\s\S]*2 +ollama/)]);
    expect(asked).toEqual([expect.stringContaining('Which model?')]);
    expect(saved()).toEqual({ model: name });
  });

  it('changes nothing for an empty answer, and without a terminal says which flags it needs', async () => {
    const { cli, file } = createMachine();
    using _ = cli;
    expect((await cli.run(['init'], { ask: async () => '' })).code).toBe(1);
    expect(await cli.run(['init'])).toMatchObject({ code: 2, stderr: expect.stringContaining('add --model NAME, or --yes') });
    expect(existsSync(file)).toBe(false);
    expect((await cli.run(['init', '--yes'])).code).toBe(0);
    expect(existsSync(file)).toBe(true);
  });

  it('--project writes a configuration that needs no trust, and never overwrites one', async () => {
    const { cli } = createMachine();
    using _ = cli;
    expect((await cli.run(['init', '--project'], { ask: async () => 'n' })).code).toBe(1);
    expect(await cli.run(['init', '--project', '--yes'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('retinue.config.json is written'),
    });
    const config = await cli.json<{ notices: string[]; values: Record<string, { value: unknown }> }>('config');
    expect([config.notices, config.values['limits.maxTurns']?.value]).toEqual([[], 30]);
    const { trust } = await cli.parts.settings({ limits: {}, rules: [] });
    expect(trust, 'doctor warns about these').toEqual([]);
    expect((await cli.run(['trust'])).stderr).toContain('no file asks for trust');
    // A model without a price can be used with it.
    expect(await cli.run(['run', '--model', 'script/script.json', 'work'])).toMatchObject({ code: 0 });
    expect(await cli.run(['init', '--project', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('already exists; edit it, or delete it first'),
    });
  });

  it('a cost limit that cannot be kept is refused with its file and key, or with its flag', async () => {
    using cli = createCli({ config: { limits: { maxCostUsd: 2 } } });
    expect(await cli.run(['run', 'work'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/the cost limit of \$2 from `limits\.maxCostUsd`.*is set in .*retinue\.config\.json/),
    });
    const { stderr } = await cli.run(['run', '--budget-usd', '1', 'work']);
    expect(stderr).toMatch(/the cost limit of \$1 from `limits\.maxCostUsd` of the brief \(`--budget-usd`\)/);
    expect(stderr).not.toContain('retinue.config.json');
  });
});
