// The program against a provider over HTTP: a job with children and edits, its cost, and a key that is found nowhere afterwards.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ProviderRequest, startProviderServer } from '../../src/testing/provider-server.ts';
import { createPlace } from './support-process.ts';

const key = 'sk-ant-canary-0123456789abcdefghij';
const none = { runs: [{ steps: [{ text: 'not used' }] }] };

/** A parent that delegates two edits, each of which reads a file and changes it. */
function answer({ body }: ProviderRequest) {
  const text = JSON.stringify(body.messages);
  const results = (text.match(/tool_result/g) ?? []).length;
  const file = /change (\w)\.txt/.exec(text)?.[1];
  const usage = { input: 1000, output: 100 };
  if (text.includes('change both') && results === 0) {
    return {
      usage,
      calls: [{ tool: 'delegate', args: { tasks: ['a', 'b'].map((name) => ({ task: `change ${name}.txt`, label: name })) } }],
    };
  }
  if (text.includes('change both')) return { usage, text: 'both are changed' };
  if (results === 0) return { usage, calls: [{ tool: 'read', args: { path: `${file}.txt` } }] };
  if (results === 1) return { usage, calls: [{ tool: 'edit', args: { path: `${file}.txt`, old: 'old', new: 'new' } }] };
  return { usage, text: `changed ${file}.txt` };
}

describe('a run with a provider', () => {
  it('does a job with children and edits, and prints what it cost', async () => {
    const server = await startProviderServer({ answer });
    using place = createPlace(none, {
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: server.url,
      RETINUE_MODEL: 'anthropic/claude-sonnet-4-5',
    });
    for (const name of ['a', 'b']) writeFileSync(join(place.folder, `${name}.txt`), 'old text\n');
    const run = await place.run('run', '--json', 'change both');
    const outcome = JSON.parse(run.out);
    expect([run.code, outcome.summary]).toEqual([0, 'both are changed']);
    for (const name of ['a', 'b']) expect(readFileSync(join(place.folder, `${name}.txt`), 'utf8')).toBe('new text\n');
    expect(outcome.tokens).toMatchObject({ input: 8000, output: 800 });
    expect(outcome.costUsd).toBeCloseTo(8000 * 3e-6 + 800 * 15e-6, 3);
    expect(run.err).toMatch(/\$0\.0\d/);
    const child = JSON.parse((await place.run('show', 'last', '--json')).out).children[0];
    const shown = JSON.parse((await place.run('show', child.runId, '--json')).out);
    expect(shown.outcome.artifacts.map((artifact: { kind: string }) => artifact.kind)).toEqual(['path', 'diff']);
    expect(server.requests.every((request) => request.headers['x-api-key'] === key)).toBe(true);
    const state = join(place.folder, '.retinue');
    const kept = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
    expect([...kept, run.out, run.err].some((text) => text.includes(key))).toBe(false);
    await server.close();
  });

  it('says what is wrong with the key, asks once, and never prints it', async () => {
    const server = await startProviderServer({ answer: () => ({ fault: { kind: 'status', status: 401, message: `invalid key ${key}` } }) });
    using place = createPlace(none, {
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: server.url,
      RETINUE_MODEL: 'anthropic/claude-sonnet-4-5',
    });
    const run = await place.run('run', '--json', 'hello');
    expect(run.code).toBe(1);
    expect(JSON.parse(run.out)).toMatchObject({ status: 'failed', error: { code: 'auth' } });
    expect(server.requests).toHaveLength(1);
    expect(run.out + run.err).not.toContain(key);
    await server.close();
  });

  it('without a model says which ways there are here, and falls back to none', async () => {
    using place = createPlace(none, { RETINUE_MODEL: '', OPENAI_API_KEY: 'sk-not-shown-000000000000', OLLAMA_HOST: '127.0.0.1:9' });
    const run = await place.run('run', 'hello');
    expect([run.code, run.out]).toEqual([2, '']);
    expect(run.err).toMatch(/no model is configured[\s\S]*OPENAI_API_KEY is set[\s\S]*retinue run --model openai\//);
    expect(run.err).not.toContain('not-shown');
  });

  it('surveys a folder without any of them when asked to', async () => {
    using place = createPlace(none, { RETINUE_MODEL: 'offline/surveyor' });
    writeFileSync(join(place.folder, 'main.py'), 'import os\n# TODO: more\n');
    const run = await place.run('run', 'survey');
    expect(run.code).toBe(0);
    expect(run.out).toMatch(/Python[\s\S]*not a language model/);
  });
});
