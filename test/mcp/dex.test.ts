// Dex over MCP: the real program, the official client, and a provider that records what each subagent was sent.
import { describe, expect, it } from 'vitest';
import { readTexts } from './support.ts';
import {
  findTool,
  getFirstMessage,
  getMessages,
  getSystemPrompt,
  getText,
  getToolNames,
  readChildren,
  readLogs,
  readOnlyText,
  startDialectServer,
} from './support-dialect.ts';

const spawn = 'spawn_subagent';

describe('the tool', () => {
  it('matches the source: name, description, parameters, hints', async () => {
    await using server = await startDialectServer('dex');
    const tool = await findTool(server.client, spawn);
    expect((await server.client.listTools()).tools).toHaveLength(1);
    expect(tool.description).toMatch(
      /^Spawn an isolated subagent for delegated work\.\n\nUse this when you need to:\n- Explore a separate/,
    );
    expect(tool.inputSchema.required).toEqual(['instructions']);
    expect(Object.keys(tool.inputSchema.properties)).toEqual([
      ...['instructions', 'hat', 'max_turns', 'files', 'inherit_memories', 'summary_mode', 'timeout'],
    ]);
    expect(tool.inputSchema.properties).toMatchObject({
      instructions: { type: 'string', description: 'Clear, specific task for the subagent' },
      hat: { enum: ['explorer', 'planner', 'creator', 'critic'], description: 'Hat/role for the subagent (default: explorer)' },
      max_turns: { type: 'integer', description: 'Maximum iterations (default: 10, max: 25)' },
      files: { type: 'array', items: { type: 'string' }, description: 'Files to pre-read for context' },
    });
    expect(tool.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: false });
  });

  it('refuses wrong parameters by name', async () => {
    await using server = await startDialectServer('dex', { config: { dialects: { dex: { allowed_hats: ['explorer'] } } } });
    const wrong: [args: object, said: RegExp][] = [
      [{}, /^invalid subagent config: instructions: /],
      [{ instructions: ' ' }, /^invalid subagent config: instructions: /],
      [{ instructions: 'x', hat: 'editor' }, /hat/],
      [{ instructions: 'x', hat: 'critic' }, /^invalid subagent config: hat: .*explorer/],
      [{ instructions: 'x', max_turns: 'many' }, /max_turns/],
      [{ instructions: 'x', files: 'a.txt' }, /files/],
      [{ instructions: 'x', timeout: 'soon' }, /^invalid subagent config: timeout: /],
      [{ instructions: 'x', instruction: 'y' }, /instruction.*instructions/],
    ];
    for (const [args, said] of wrong) {
      const result = await server.call(spawn, args);
      expect([result.isError, readOnlyText(result)]).toEqual([true, expect.stringMatching(said)]);
    }
  });
});

describe('turns and time', () => {
  it('have defaults and are limited to their maximum', async () => {
    await using server = await startDialectServer('dex', { answers: { look: { text: 'seen' } } });
    const cases: [more: object, turns: number, ms: number][] = [
      [{}, 10, 600_000],
      [{ max_turns: 0, timeout: 0 }, 10, 600_000],
      [{ max_turns: -3, timeout: '90s' }, 10, 90_000],
      [{ max_turns: 26, timeout: '10m' }, 25, 600_000],
      [{ max_turns: 7, timeout: 30 }, 7, 30_000],
    ];
    for (const [more] of cases) await server.call(spawn, { instructions: 'look', ...more });
    const given = (await server.listRuns()).map(({ grant: { limits } }) => [limits.maxTurns?.value, limits.timeoutMs?.value]);
    expect(given.reverse()).toEqual(cases.map(([, turns, ms]) => [turns, ms]));
  });

  it('of the variables beat the file; DEX_SUBAGENT_ENABLED switches it off', async () => {
    const env = { DEX_SUBAGENT_DEFAULT_MAX_TURNS: '4', DEX_SUBAGENT_DEFAULT_TIMEOUT: '2m', DEX_SUBAGENT_MAX_CONCURRENT: '1' };
    await using server = await startDialectServer('dex', {
      answers: { one: { text: '1' }, two: { text: '2' } },
      held: ['one'],
      config: { dialects: { dex: { default_max_turns: 7, max_concurrent: 2 } } },
      env,
    });
    const calls = [server.call(spawn, { instructions: 'one' })];
    await server.asked('one');
    calls.push(server.call(spawn, { instructions: 'two' }));
    await server.place.until(['ps'], (all: { status: string }[]) => all.some(({ status }) => status === 'queued'));
    expect(server.findRequests('two')).toEqual([]);
    server.release('one');
    await Promise.all(calls);
    const { grant } = await server.findRun('one');
    expect([grant.limits.maxTurns?.value, grant.limits.timeoutMs?.value]).toEqual([4, 120_000]);
    await using off = await startDialectServer('dex', { env: { DEX_SUBAGENT_ENABLED: 'false' } });
    const refused = await off.call(spawn, { instructions: 'x' });
    expect([refused.isError, readOnlyText(refused)]).toEqual([true, expect.stringContaining('not enabled')]);
  });

  it('three run at the same time, the fourth is queued', async () => {
    const answers = { first: { text: 'a' }, rest: { text: 'b' }, late: { text: 'c' } };
    await using server = await startDialectServer('dex', { answers, held: ['first', 'rest'] });
    const calls = ['first', 'rest', 'rest'].map((instructions) => server.call(spawn, { instructions }));
    await expect.poll(() => server.findRequests('').length, { timeout: 10_000 }).toBe(3);
    calls.push(server.call(spawn, { instructions: 'late' }));
    await server.place.until(['ps'], (all: { status: string }[]) => all.some(({ status }) => status === 'queued'));
    expect(server.findRequests('late')).toEqual([]);
    server.release('first');
    await server.asked('late');
    server.release('rest');
    expect((await Promise.all(calls)).map((result) => readTexts(result)[0]?.split('\n')[0])).toEqual(
      Array(4).fill('## Subagent Result (Success)'),
    );
  });
});

it('hats have their tools, as the provider sees them, and the text for subagents; none can spawn', async () => {
  const nested = [{ calls: [{ tool: spawn, args: { instructions: 'more' } }] }, { text: 'alone' }];
  await using server = await startDialectServer('dex', { answers: { nested, 'wear ': { text: 'worn' } } });
  await Promise.all(['explorer', 'planner', 'creator', 'critic'].map((hat) => server.call(spawn, { instructions: `wear ${hat}`, hat })));
  await server.call(spawn, { instructions: 'nested' });
  const looking = ['bash', 'glob', 'grep', 'list', 'read', 'scratchpad'];
  const sent = (word: string) => getToolNames(server.findRequests(word)[0] ?? { body: {} });
  expect(sent('wear explorer')).toEqual(looking);
  expect(sent('wear planner')).toEqual([...looking, 'todo']);
  expect(sent('wear creator')).toEqual([...looking, 'edit', 'write'].sort());
  expect(sent('wear critic')).toEqual(looking);
  expect(sent('nested')).toEqual(looking);
  const [first, second] = server.findRequests('nested');
  expect(first && getSystemPrompt(first)).toContain('# Subagent Context\\n\\nYou are a specialized subagent spawned for a specific task.');
  expect(JSON.stringify(second?.body.messages)).toMatch(/spawn_subagent.*subagents cannot spawn additional subagents/);
});

it('the first message has the task, files cut at 10,000 characters, and memories if requested', async () => {
  await using server = await startDialectServer('dex', {
    answers: { study: { text: 'ok' }, plain: { text: 'ok' } },
    files: { 'a.txt': 'alpha', 'long.txt': 'x'.repeat(10_001) },
  });
  await server.place.run('memory', 'add', 'Build', 'use make');
  await server.call(spawn, { instructions: 'study', files: ['a.txt', 'gone.txt', 'long.txt'], inherit_memories: true });
  await server.call(spawn, { instructions: 'plain' });
  const [study, plain] = [server.findRequests('study')[0], server.findRequests('plain')[0]];
  const cut = `### long.txt\n\`\`\`\n${'x'.repeat(10_000)}\n\`\`\`\n[cut at 10000 characters; the file has more]\n\n`;
  expect(study && getFirstMessage(study)).toMatch(
    /^# Subagent Task\n\nstudy\n\n## Pre-loaded Files\n\n### a\.txt\n```\nalpha\n```\n\n### gone\.txt\n\(failed to read: .*\)\n\n/,
  );
  expect(study && getFirstMessage(study)).toContain(`${cut}## Project Knowledge\n\n- **Build**: use make\n`);
  expect(plain && getFirstMessage(plain)).toBe('# Subagent Task\n\nplain\n\n');
  expect(plain && getMessages(plain).map(getText).join('')).not.toContain('use make');
});

describe('how outcomes are shown', () => {
  it('completed: Success, the summary, the artifacts that the runtime saw, and the counts', async () => {
    const steps = [{ text: 'I write.', calls: [{ tool: 'write', args: { path: 'new.txt', content: 'n' } }] }, { text: 'Made it.' }];
    await using server = await startDialectServer('dex', { answers: { quick: { text: 'Found it.' }, make: steps } });
    const quick = await server.call(spawn, { instructions: 'quick' });
    expect([quick.isError, readTexts(quick), quick.structuredContent]).toEqual([
      undefined,
      ['## Subagent Result (Success)\n\nFound it.\n\n*(1 iterations, 15 tokens)*'],
      { success: true, summary: 'Found it.', iterations: 1, tokens_used: 15 },
    ]);
    const making = await server.call(spawn, { instructions: 'make', hat: 'creator' });
    expect(making.structuredContent).toMatchObject({ artifacts: { 'new.txt': 'created' } });
    const [made = ''] = readTexts(making);
    expect(made).toMatch(
      /^## Subagent Result \(Success\)\n\nMade it\.\n\n\*\*Artifacts:\*\*\n- new\.txt: .+\n(- .+\n)*\n\n\*\(2 iterations, 30 tokens\)\*$/,
    );
    const [full = ''] = readTexts(await server.call(spawn, { instructions: 'make', hat: 'creator', summary_mode: false }));
    expect(full).toMatch(/^## Subagent Result \(Success\)\n\nI write\.\s+Made it\.\n\n\*\*Artifacts/);
  });

  it('exhausted, timed out, cancelled and failed: Terminated and the reason, with the partial work', async () => {
    const far = [{ text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'as far as I came' }];
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    await using server = await startDialectServer('dex', {
      answers: { far, slow: { text: 'never' }, stopped: { text: 'never' }, denied },
      held: ['slow', 'stopped'],
    });
    const stopping = server.call(spawn, { instructions: 'stopped' });
    const [exhausted, late, failed] = await Promise.all([
      server.call(spawn, { instructions: 'far', max_turns: 1 }),
      server.call(spawn, { instructions: 'slow', timeout: 1 }),
      server.call(spawn, { instructions: 'denied' }),
      server.asked('stopped').then(() => server.cancelRun('stopped')),
    ]);
    const terminated = (reason: string, summary: string) =>
      expect.stringMatching(
        new RegExp(
          `^## Subagent Result \\(Terminated\\)\\n\\n\\*\\*Reason\\*\\*: ${reason}\\n\\n${summary}\\n\\n\\*\\(\\d+ iterations, \\d+ tokens\\)\\*$`,
        ),
      );
    expect(readTexts(exhausted)[0]).toEqual(terminated('.*turn.*', 'as far as I came'));
    expect(readTexts(late)[0]).toEqual(terminated('.*(time|deadline).*', ''));
    expect(readTexts(await stopping)[0]).toEqual(terminated('.+', ''));
    expect(readTexts(failed)[0]).toEqual(terminated('.*(401|bad key).*', ''));
  });
});

it('Activity log tracks subagent lifecycle: the entries are in the logs of the client’s root', async () => {
  await using server = await startDialectServer('dex', { answers: { look: { text: 'seen' } } });
  await server.call(spawn, { instructions: 'look', hat: 'critic', max_turns: 3 });
  const { runId, parentId } = await server.findRun('look');
  const entries = (await readLogs(server.place, parentId)).flatMap(({ activity }) => activity ?? []);
  expect(entries).toEqual([
    {
      type: 'subagent_spawn',
      message: 'spawned',
      metadata: { subagent_id: runId, hat: 'critic', max_turns: '3' },
      debug: 'spawning subagent: hat=critic, max_turns=3',
    },
    {
      type: 'subagent_complete',
      message: 'completed',
      metadata: { subagent_id: runId, success: 'true', iterations: '1' },
      debug: 'subagent completed: success=true, iterations=1, tokens=15',
    },
  ]);
  expect((await server.place.run('logs', parentId)).out).toMatch(/ activity +subagent_spawn · spawned · subagent_id=\w{16} · hat=critic/);
  expect(await readChildren(server.place, parentId)).toHaveLength(1);
});

it('a client that gives up after its timeout loses nothing: the next result includes it', async () => {
  await using server = await startDialectServer('dex', {
    answers: { slow: { text: 'the slow finding' }, quick: { text: 'quick' } },
    held: ['slow'],
  });
  await expect(server.call(spawn, { instructions: 'slow' }, { timeout: 1000 })).rejects.toThrow(/timed out/i);
  await server.asked('slow');
  server.release('slow');
  const { runId } = await server.findRun('slow');
  await server.place.until(['show', runId], (run: { status: string }) => run.status === 'completed');
  const next = readTexts(await server.call(spawn, { instructions: 'quick' }));
  expect(next).toEqual([
    expect.stringContaining('\n\nquick\n\n'),
    expect.stringContaining(`[run ${runId} · completed · 1 turn]\nthe slow finding`),
  ]);
  expect(readTexts(await server.call(spawn, { instructions: 'quick' }))).toHaveLength(1);
});
