// Recipes of Goose from the command line: values of parameters, the form of the result, acceptance checks, and delegation to one.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCli } from './support.ts';

const recipe = `title: Greeter
description: Greets somebody.
instructions: Greet {{ who }} in {{ language }}. Never mind {{ unknown }}.
prompt: Write the greeting now.
parameters:
  - {key: who, input_type: string, requirement: required, description: Whom to greet}
  - {key: language, input_type: select, requirement: optional, default: English, options: [English, French], description: Which language}
`;
const at = '.goose/recipes/greeter.yaml';
/** Everything that the newest tree recorded, texts of requests included. */
async function exportOf(cli: ReturnType<typeof createCli>): Promise<string> {
  const file = join(cli.folder, 'export.jsonl');
  expect((await cli.run(['export', 'last', '--output', file])).code).toBe(0);
  return readFileSync(file, 'utf8');
}
const systemOf = async (cli: ReturnType<typeof createCli>) => JSON.stringify(await cli.json('agents', 'explain', 'greeter'));

describe('a recipe', () => {
  it('runs with the values of the command line, and needs no task', async () => {
    using cli = createCli({ files: { [at]: recipe } });
    const { code, stderr } = await cli.run(['run', '--agent', 'greeter', '--param', 'who=Ada=L {{ language }}']);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const [created] = await cli.facts();
    expect(created?.data).toMatchObject({
      agent: 'greeter',
      brief: { task: 'Do the task that your instructions describe.', params: { who: 'Ada=L {{ language }}' } },
    });
    expect((await cli.run(['replay', 'last'])).code).toBe(0);
    expect(await systemOf(cli)).toContain('Greet {{ who }} in {{ language }}');
  });

  it('tells the model the values, and fills in nothing twice', async () => {
    using cli = createCli({
      files: { [at]: recipe },
      runs: [{ when: { agent: 'greeter', task: 'hello' }, steps: [{ text: 'ok' }] }],
    });
    expect((await cli.run(['run', '--agent', 'greeter', '--param', 'who={{ language }}', 'hello'])).code).toBe(0);
    const blobs = JSON.stringify((await cli.facts()).find(({ type }) => type === 'run.started')?.data);
    expect(blobs).toContain('hello');
    const exported = await exportOf(cli);
    expect(exported).toContain('Greet {{ language }} in English. Never mind {{ unknown }}.');
  });

  it.each<[string[], string]>([
    [[], 'the agent greeter needs a value for who (Whom to greet)'],
    [['--param', 'who'], '--param who: write it as NAME=VALUE'],
    [['--param', 'who=a', '--param', 'who=b'], '--param who is given twice'],
    [['--param', 'who=a', '--param', 'langauge=French'], 'unknown parameter `langauge`; did you mean `language`?'],
    [['--param', 'who=a', '--param', 'language=Latin'], 'params.language: must be one of English, French'],
  ])('%j is refused before anything runs', async (flags, said) => {
    using cli = createCli({ files: { [at]: recipe } });
    expect(await cli.run(['run', '--agent', 'greeter', ...flags])).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
    expect(await cli.json('ps', '--all')).toEqual([]);
  });

  it('another agent has no parameters and needs a task', async () => {
    using cli = createCli();
    expect(await cli.run(['run', '--agent', 'explore', '--param', 'a=b', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the agent explore has no parameters'),
    });
    expect(await cli.run(['run', '--agent', 'explore'])).toMatchObject({ code: 2, stderr: expect.stringContaining('the task is missing') });
  });

  it('gives a file of a parameter to the first message, with the rights of the run', async () => {
    const text =
      'title: T\ndescription: d\nprompt: Review {{ code }}.\nparameters: [{key: code, input_type: file, requirement: required, description: c}]\n';
    using cli = createCli({
      files: { '.goose/recipes/rev.yaml': text, 'a.txt': 'first line', 'secret.txt': 'hidden line' },
      config: { rules: ['deny read:secret.txt'] },
    });
    expect((await cli.run(['run', '--agent', 'rev', '--param', 'code=a.txt'])).code).toBe(0);
    const first = async () => JSON.stringify((await cli.facts()).find(({ type }) => type === 'run.started')?.data);
    expect(await first()).toContain('first line');
    await cli.run(['run', '--agent', 'rev', '--param', 'code=secret.txt']);
    expect(await first()).not.toContain('hidden line');
    await cli.run(['run', '--agent', 'rev', '--param', 'code=../home/x']);
    expect(await first()).toMatch(/outside the workspace/);
  });

  it('enforces the form of the result', async () => {
    const schema = 'response: {json_schema: {type: object, properties: {n: {type: number}}, required: [n], additionalProperties: false}}\n';
    using cli = createCli({
      files: { [at]: `${recipe}${schema}` },
      runs: [
        { steps: [{ calls: [{ tool: 'submit_result', args: { n: 'one' } }] }, { calls: [{ tool: 'submit_result', args: { n: 1 } }] }] },
      ],
    });
    const { code, stdout } = await cli.run(['run', '--agent', 'greeter', '--param', 'who=x', '--json']);
    expect([code, JSON.parse(stdout).data]).toEqual([0, { n: 1 }]);
  });

  const checked = 'retry: {max_retries: 1, checks: [{type: shell, command: "test -f {{ who }}"}], on_failure: touch hook.txt}\n';
  const steps = [
    { text: 'done' },
    { expect: { prompt: 'test -f made.txt' }, calls: [{ tool: 'write', args: { path: 'made.txt', content: 'x' } }] },
    { text: 'now it is' },
  ];
  const flags = ['--sandbox', 'off', '--allow', 'bash'];

  it('runs its checks after trust, and gives failures back to the agent', async () => {
    using cli = createCli({ files: { [at]: `${recipe}${checked}` }, runs: [{ steps }], env: { PATH: process.env.PATH as string } });
    expect((await cli.run(['trust', '--yes'])).stdout).toContain('test -f {{ who }}');
    const { code, stderr } = await cli.run(['run', '--agent', 'greeter', '--param', 'who=made.txt', ...flags]);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect((await cli.facts()).at(-1)?.data).toMatchObject({ outcome: { verified: true } });
    const statuses = (await cli.facts()).flatMap(({ type, data }) =>
      type === 'check.finished' ? [(data as { status: string }).status] : [],
    );
    expect(statuses).toEqual(['failed', 'passed']);
    expect(existsSync(join(cli.folder, 'hook.txt'))).toBe(false);
  });

  it('runs no checks of a workspace that is not trusted, and says so', async () => {
    using cli = createCli({ files: { [at]: `${recipe}${checked}` } });
    const { code, stderr } = await cli.run(['run', '--agent', 'greeter', '--param', 'who=made.txt', ...flags]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/not trusted: `check: .*test -f/);
    expect((await cli.facts()).some(({ type }) => type === 'check.started')).toBe(false);
  });

  it.each(['a; touch evil', '$(touch evil)', '-f', 'a b', "'x'"])('does not insert %j into a command', async (value) => {
    using cli = createCli({ files: { [at]: `${recipe}${checked}` } });
    await cli.run(['trust', '--yes']);
    expect(await cli.run(['run', '--agent', 'greeter', '--param', `who=${value}`, ...flags])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('params.who: it is part of an acceptance check'),
    });
    expect(existsSync(join(cli.folder, 'evil'))).toBe(false);
  });

  it('is chosen by a model that delegates, with values', async () => {
    const delegate = (tasks: object[]) => ({ calls: [{ tool: 'delegate', args: { tasks } }] });
    using cli = createCli({
      files: { [at]: recipe },
      runs: [
        {
          when: { agent: 'general' },
          steps: [
            delegate([{ task: 'greet', agent: 'greeter' }]),
            { ...delegate([{ task: 'greet', agent: 'greeter', params: { who: 'Bo' } }]), expect: { prompt: 'needs a value for who' } },
            { text: 'done' },
          ],
        },
        { when: { agent: 'greeter' }, steps: [{ text: 'Hello Bo' }] },
      ],
    });
    const { code, stderr } = await cli.run(['run', 'x']);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(await exportOf(cli)).toMatch(/\[params: who, language\?\] Greeter: Greets somebody\./);
  });
});
