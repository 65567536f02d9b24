import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { ask, models, prompt, root, say, steps } from './support.ts';

const child = (last: string, given = {}) => ({ runId: `00000000000000c${last}`, rootId: root, agent: 'explore', ...given });
const tools = (...names: string[]) => names.map((name) => ({ type: 'function' as const, name, inputSchema: { type: 'object' as const } }));

describe('the steps of a run', () => {
  test('a run takes the first entry that matches and is not used up, at its first call', async () => {
    const resolve = models({
      runs: [
        { when: { agent: 'general' }, steps: [{ text: 'root' }] },
        { when: { label: 'b' }, steps: [{ text: 'by label' }] },
        { when: { agent: 'explore', task: 'docs' }, steps: [{ text: 'by task' }] },
        { when: { agent: 'explore' }, times: 2, steps: [{ text: 'twice' }] },
        { times: 'any', steps: [{ text: 'any' }] },
      ],
    });
    expect(await say(await resolve())).toBe('root');
    const handles = await Promise.all([
      resolve(child('1', { task: 'read the docs' })),
      resolve(child('2', { label: 'b' })),
      resolve(child('3')),
      resolve(child('4', { task: 'more docs' })),
      resolve(child('5')),
      resolve(child('6')),
    ]);
    const said: string[] = [];
    for (const handle of handles) said.push(await say(handle));
    expect(said).toEqual(['by task', 'by label', 'twice', 'twice', 'any', 'any']);
  });

  test('each tree starts the script again', async () => {
    const resolve = models(steps({ text: 'hello' }));
    expect(await say(await resolve())).toBe('hello');
    expect(await say(await resolve({ runId: '00000000000000bb', rootId: '00000000000000bb' }))).toBe('hello');
  });

  test('a step can be repeated', async () => {
    const handle = await models(steps({ text: 'again', repeat: 2 }, { text: 'end' }))();
    expect([await say(handle), await say(handle), await say(handle)]).toEqual(['again', 'again', 'end']);
    expect(handle.finished?.(root)).toBeNull();
  });

  test('a run that an earlier process began continues where it was', async () => {
    const list = [{ error: { status: 500, message: 'x' } }, { text: 'one' }, { text: '' }, { text: 'two' }, { text: 'three' }];
    const handle = await models({ runs: [{ steps: list }, { when: { agent: 'explore' }, steps: [{}] }] })();
    expect(await say(handle, { prompt: prompt('the task', 'one', 'go on', 'two', 'go on') })).toBe('three');
    expect(handle.finished?.(root)).toBeNull();
  });

  test.each([
    ['is its first message', 't'],
    ['is part of its first message', '# Task\n\nt\n\n# Context\n\nnone'],
  ])('a run whose task %s goes on where it was, although the task occurs later too', async (_, first) => {
    const handle = await models(steps({ text: 'one' }, { text: 'two' }, { text: 'three' }))({ task: 't' });
    expect(await say(handle, { prompt: prompt(first, 'one', 'what next?', 'two', 'to the end') })).toBe('three');
  });

  test('a run that continues another conversation begins at its first step', async () => {
    const handle = await models(steps({ text: 'first' }))({ task: 'and now?' });
    expect(await say(handle, { prompt: prompt('earlier', 'answer', 'and now?') })).toBe('first');
  });
});

describe('strictness', () => {
  const failing = { code: 'script', retryable: false };

  test('no entry for the run', async () => {
    const handle = await models({ runs: [{ when: { agent: 'explore' }, steps: [{}] }] })();
    await expect(ask(handle)).rejects.toMatchObject({
      ...failing,
      message: expect.stringContaining('no entry of `runs` matches this run'),
    });
  });

  test('an entry that is used up', async () => {
    const resolve = models({ runs: [{ when: { agent: 'explore' }, steps: [{ text: 'x' }] }] });
    await ask(await resolve(child('1')));
    await expect(ask(await resolve(child('2')))).rejects.toMatchObject(failing);
  });

  test('a call without a step shows its input', async () => {
    const handle = await models(steps({ text: 'x' }))({ label: 'mine' });
    await ask(handle);
    await expect(ask(handle, { prompt: prompt('the task', 'x', 'one more') })).rejects.toMatchObject({
      ...failing,
      message: `/w/s.json: run ${root} (agent general, label "mine", task "the task"): call 2 has no step; its input was "one more"`,
    });
  });

  test.each([
    { expected: { prompt: 'result of b' }, fails: null },
    { expected: { prompt: 'result of a' }, fails: null },
    { expected: { prompt: 'the task' }, fails: 'step 1 expects "the task", but the input was "result of a\\nresult of b"' },
    { expected: { tools: ['read', 'list'] }, fails: null },
    { expected: { tools: ['bash', 'read', 'write'] }, fails: 'step 1 expects the tools bash, write; the call offers read, list' },
  ])('expect $expected', async ({ expected, fails }) => {
    const handle = await models(steps({ expect: expected, text: 'ok' }))({ task: 'other' });
    const said: LanguageModelV4Prompt = [
      { role: 'system', content: 'system' },
      { role: 'user', content: [{ type: 'text', text: 'the task' }] },
      { role: 'assistant', content: [] },
      {
        role: 'tool',
        content: ['a', 'b'].map((name) => ({
          type: 'tool-result',
          toolCallId: name,
          toolName: name,
          output: { type: 'text', value: `result of ${name}` },
        })),
      },
    ];
    const asking = say(handle, { prompt: said, tools: tools('read', 'list') });
    if (fails === null) expect(await asking).toBe('ok');
    else await expect(asking).rejects.toMatchObject({ ...failing, message: expect.stringContaining(fails) });
  });

  test('unused steps', async () => {
    const handle = await models(steps({ text: 'a' }, { text: 'b' }))();
    await ask(handle);
    expect(handle.finished?.(root)).toMatchObject({ ...failing, message: expect.stringContaining('1 of 2 steps unused') });
  });

  test('the root reports unused entries', async () => {
    const resolve = models({
      runs: [
        { when: { agent: 'general' }, steps: [{}] },
        { times: 'any', when: { label: 'z' }, steps: [{}] },
        { times: 2, steps: [{}] },
      ],
    });
    const [parent, only] = await Promise.all([resolve(), resolve(child('1'))]);
    await ask(parent);
    await ask(only);
    expect(only.finished?.(child('1').runId)).toBeNull();
    expect(parent.finished?.(root)).toMatchObject({ ...failing, message: expect.stringContaining('runs[2] was used 1 times of 2') });
  });

  test('a run that made no call has no unused steps', async () => {
    expect((await models(steps({}))()).finished?.(root)).toBeNull();
  });
});

describe('{{run:N}}', () => {
  const ids = ['1111111111111111', '2222222222222222'];
  const told = prompt(
    'the task',
    `go`,
    `[run ${ids[0]} · running] [run ${ids[1]} · queued] [run ${ids[0]} · done] run 12 xrun 3333333333333333`,
  );

  test('is replaced by the id of a run that the conversation mentions, in strings at any depth', async () => {
    const calls = [{ tool: 'delegate_wait', args: { ids: ['{{run:2}}', 'x{{run:1}}'], deep: { n: 1, text: '{{run:1}}' } } }];
    const handle = await models(steps({ text: 'go' }, { text: '{{run:1}}', calls }))();
    const { content } = await handle.model.doGenerate({ prompt: told });
    expect(content).toEqual([
      { type: 'text', text: ids[0] },
      expect.objectContaining({ input: JSON.stringify({ ids: [ids[1], `x${ids[0]}`], deep: { n: 1, text: ids[0] } }) }),
    ]);
  });

  test('finds the ids in results of ralph and openfork', async () => {
    const results = [`{"subagent_id":"${ids[0]}","status":"running","result":null}`, `launched.\n- ID: ${ids[1]}\n- Type: general`];
    const handle = await models(steps({ text: 'go' }, { text: '{{run:1}} {{run:2}}' }))();
    const { content } = await handle.model.doGenerate({ prompt: prompt('the task', 'go', results.join('\n')) });
    expect(content).toEqual([{ type: 'text', text: ids.join(' ') }]);
  });

  test('fails if the conversation does not mention that run', async () => {
    const handle = await models(steps({ text: 'go' }, { text: '{{run:3}}' }))();
    await expect(ask(handle, { prompt: told })).rejects.toMatchObject({
      code: 'script',
      message: '/w/s.json: {{run:3}} does not exist; the conversation mentions 2 runs so far',
    });
  });
});
