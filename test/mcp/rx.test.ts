// rx over MCP: the real program and the official client. Success and failure have the same shape.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readTexts } from './support.ts';
import {
  type DialectServer,
  findClientRun,
  findTool,
  getFirstMessage,
  getToolNames,
  type LoggedFact,
  parseStructured,
  readLogs,
  startDialectServer,
} from './support-dialect.ts';

interface Response {
  success: boolean;
  summary: string;
  artifacts: { kind: string; value: string }[];
  error?: string;
  timed_out?: boolean;
  duration_ms: number;
}

const looks = { text: 'I begin.', calls: [{ tool: 'list', args: { path: '.' } }] };
const failure = (error: unknown) => ({ success: false, summary: '', artifacts: [], error, duration_ms: 0 });

describe('the tool', () => {
  it('matches the source: name, parameters, result', async () => {
    await using server = await startDialectServer('rx');
    expect((await server.client.listTools()).tools).toHaveLength(1);
    const tool = await findTool(server.client, 'subagent');
    expect(tool.inputSchema.required).toEqual(['task']);
    expect(Object.keys(tool.inputSchema.properties)).toEqual(['task', 'context', 'files', 'max_iterations', 'timeout_seconds']);
    expect(tool.inputSchema.properties).toMatchObject({
      task: { description: 'Delegated objective for the subagent' },
      context: { description: 'Additional scoped context payload' },
      files: { description: 'File hints for targeted reading', items: { type: 'string' } },
      timeout_seconds: { description: expect.stringContaining('(default 120)') },
    });
    expect(Object.keys(tool.outputSchema?.properties ?? {})).toEqual([
      ...['success', 'summary', 'artifacts', 'error', 'timed_out', 'truncated', 'duration_ms'],
    ]);
    expect(tool.outputSchema?.required).toEqual(['success', 'summary', 'artifacts', 'duration_ms']);
  });

  it('refuses wrong parameters and values out of range by name, in the one shape of all results', async () => {
    await using server = await startDialectServer('rx');
    const wrong: [args: object, said: RegExp][] = [
      [{}, /^validation: task \(/],
      [{ task: 'x', files: 'a' }, /^validation: files \(/],
      [{ task: 'x', max_iterations: 1.5 }, /^validation: max_iterations \(/],
      [{ task: 'x', iterations: 1 }, /^validation: iterations \(.*max_iterations/],
    ];
    for (const [args, said] of wrong) {
      const result = await server.call('subagent', args);
      expect([result.isError, parseStructured(result)]).toEqual([true, failure(expect.stringMatching(said))]);
    }
    for (const [args, error] of [
      [{ task: ' ' }, expect.stringMatching(/^validation: task/)],
      [{ task: 'x', max_iterations: 0 }, 'validation: max_iterations (must be at least 1)'],
      [{ task: 'x', timeout_seconds: 0 }, 'validation: timeout_seconds (must be at least 1)'],
    ] as const) {
      const result = await server.call('subagent', args);
      expect([result.isError, parseStructured(result)]).toEqual([true, failure(error)]);
    }
  });

  it('disabled calls return clear structured errors, and no model is called', async () => {
    await using server = await startDialectServer('rx', {
      answers: { x: { text: 'x' } },
      config: { dialects: { rx: { enabled: false } } },
    });
    const result = await server.call('subagent', { task: 'x' });
    expect([result.isError, readTexts(result)]).toEqual([
      true,
      ['{"success":false,"summary":"","artifacts":[],"error":"not enabled","duration_ms":0}'],
    ]);
    expect(server.findRequests('')).toEqual([]);
  });

  it('every call is recorded with its whole input and its normalized output, also disabled and invalid ones', async () => {
    await using disabled = await startDialectServer('rx', { config: { dialects: { rx: { enabled: false } } } });
    await using server = await startDialectServer('rx', { answers: { look: { text: 'seen' } } });
    const calls: [DialectServer, object, string | null][] = [
      [disabled, { task: 'look', context: 'c'.repeat(5000) }, null],
      [server, { tsk: 'look' }, 'malformed'],
      [server, { task: 'look', files: ['a.txt'] }, null],
    ];
    const texts: string[] = [];
    for (const [each, args] of calls) texts.push(...readTexts(await each.call('subagent', args)));
    const facts = (await Promise.all([disabled, server].map(({ place }) => readClientFacts(place)))).flat();
    const asked = facts.filter(({ type }) => type === 'tool.asked');
    expect(asked.map(({ data }) => [data.tool, data.arguments, data.rejected])).toEqual(
      calls.map(([, args, why]) => ['subagent', args, why]),
    );
    expect(facts.filter(({ type }) => type === 'tool.finished').map(({ data }) => data.output)).toEqual(texts);
    const { brief } = await server.findRun('look');
    expect(brief.tags?.[0]).toBe(`rx.correlation=${asked[2]?.runId}/2.0`);
    expect(await server.place.run('verify')).toMatchObject({ code: 0 });
    expect(await server.place.run('replay', 'last')).toMatchObject({ code: 0 });
  });
});

/** The facts of the client's run. */
async function readClientFacts(place: DialectServer['place']) {
  const facts = JSON.parse((await place.run('logs', await findClientRun(place), '--tree', '--json')).out) as LoggedFact[];
  const client = facts.find(({ type, data }) => type === 'run.created' && data.kind === 'client');
  return facts.filter(({ runId }) => runId === client?.runId);
}

describe('a delegation', () => {
  it('successful delegation returns stable summary/artifacts shape; the subagent gets only task, context and file hints', async () => {
    const make = [{ calls: [{ tool: 'write', args: { path: 'new.txt', content: 'n' } }] }, { text: 'made it' }];
    await using server = await startDialectServer('rx', { answers: { make }, files: { 'a.txt': 'alpha' } });
    const result = parseStructured<Response>(await server.call('subagent', { task: 'make', context: 'be brief', files: ['a.txt'] }));
    expect(Object.keys(result)).toEqual(['success', 'summary', 'artifacts', 'duration_ms']);
    expect(result).toMatchObject({ success: true, summary: 'made it' });
    expect(result.artifacts[0]).toEqual({ kind: 'path', value: 'new.txt' });
    expect(Number.isInteger(result.duration_ms)).toBe(true);
    const [first] = server.findRequests('make');
    for (const part of ['make', 'be brief', 'a.txt', 'alpha']) expect(first && getFirstMessage(first)).toContain(part);
  });

  it('repeated same mocked child response yields identical normalized output, except duration_ms', async () => {
    const same = [{ calls: [{ tool: 'write', args: { path: 'new.txt', content: 'n' } }] }, { text: 'the same\u0007 answer' }];
    await using one = await startDialectServer('rx', { answers: { same } });
    await using two = await startDialectServer('rx', { answers: { same } });
    const bytes = [one, two].map(async (server) => {
      const [text = ''] = readTexts(await server.call('subagent', { task: 'same' }));
      return text.replace(/"duration_ms":\d+}$/, '"duration_ms":0}');
    });
    const [first, second] = await Promise.all(bytes);
    expect(first).toBe(second);
    expect(first).toMatch(/^{"success":true,"summary":"the same answer","artifacts":\[.+\],"duration_ms":0}$/);
  });

  it('is bounded: 8 iterations and 120 seconds by default, at most 8 and 600', async () => {
    await using server = await startDialectServer('rx', { answers: { look: { text: 'seen' } } });
    const asked = [{}, { max_iterations: 99, timeout_seconds: 9999 }, { max_iterations: 2, timeout_seconds: 30 }];
    for (const more of asked) await server.call('subagent', { task: 'look', ...more });
    const limits = (await server.listRuns()).map(({ grant }) => [grant.limits.maxTurns?.value, grant.limits.timeoutMs?.value]);
    expect(limits.reverse()).toEqual([
      [8, 120_000],
      [8, 600_000],
      [2, 30_000],
    ]);
  });

  it('has correlation id and task hash in the facts, one id for each call', async () => {
    await using server = await startDialectServer('rx', { answers: { look: { text: 'seen' } } });
    for (let n = 0; n < 2; n++) await server.call('subagent', { task: ' look ' });
    const hash = createHash('sha256').update('look').digest('hex');
    const runs = await server.listRuns();
    const tags = runs.map(({ brief }) => brief.tags ?? []);
    expect(tags.map(([, task]) => task)).toEqual(Array(2).fill(`rx.task=${hash}`));
    const ids = tags.map(([correlation]) => correlation);
    expect(ids.every((id) => /^rx\.correlation=.+/.test(id ?? ''))).toBe(true);
    expect(new Set(ids).size).toBe(2);
    const created = (await readLogs(server.place, runs[0]?.runId ?? '')).find(({ type }) => type === 'run.created');
    expect(created?.data.brief).toMatchObject({ tags: tags[0] });
  });

  it('output size cap with truncation metadata', async () => {
    await using server = await startDialectServer('rx', { answers: { long: { text: 'é'.repeat(10_000), chunkSize: 1000 } } });
    const { success, summary } = parseStructured<Response>(await server.call('subagent', { task: 'long' }));
    const [, kept] = /\n\[truncated: kept (\d+) of 20000 bytes\]$/.exec(summary) ?? [];
    expect(success).toBe(true);
    expect(Number(kept)).toBeLessThanOrEqual(16_384);
    expect(Buffer.byteLength(summary.slice(0, summary.lastIndexOf('\n')))).toBe(Number(kept));
  });

  it('policy for allowed returned artifact kinds', async () => {
    const make = [{ calls: [{ tool: 'write', args: { path: 'new.txt', content: 'n' } }] }, { text: 'made it' }];
    await using server = await startDialectServer('rx', { answers: { make }, config: { dialects: { rx: { artifact_kinds: ['note'] } } } });
    const result = parseStructured<Response>(await server.call('subagent', { task: 'make' }));
    expect(Object.keys(result)).toEqual(['success', 'summary', 'artifacts', 'error', 'duration_ms']);
    expect(result).toMatchObject({ success: false, artifacts: [], error: 'validation: artifacts.0.kind' });
  });
});

describe('depth limit blocks recursive subagent loops deterministically', () => {
  const calls = [{ tool: 'subagent', args: { task: 'deeper' } }];

  it('a subagent does not have the tool', async () => {
    await using server = await startDialectServer('rx', { answers: { outer: [{ calls }, { text: 'alone' }] } });
    expect(parseStructured(await server.call('subagent', { task: 'outer' }))).toMatchObject({ success: true, summary: 'alone' });
    expect(server.findRequests('outer').flatMap(getToolNames)).not.toContain('subagent');
    expect(await server.listRuns()).toHaveLength(1);
  });

  it('with max_depth 2 it has the tool and the next level does not; with 0 no level delegates', async () => {
    const answers = { outer: [{ calls }, { text: 'done' }], deeper: [{ calls }, { text: 'deep' }] };
    await using server = await startDialectServer('rx', { answers, config: { dialects: { rx: { max_depth: 2 } } } });
    expect(parseStructured(await server.call('subagent', { task: 'outer' }))).toMatchObject({ success: true, summary: 'done' });
    expect((await server.listRuns()).map(({ depth }) => depth)).toEqual([2, 1]);
    expect(server.findRequests('deeper').flatMap(getToolNames)).not.toContain('subagent');
    await using none = await startDialectServer('rx', { config: { dialects: { rx: { max_depth: 0 } } } });
    const refused = await none.call('subagent', { task: 'outer' });
    expect([refused.isError, parseStructured(refused)]).toEqual([true, failure(expect.stringMatching(/^depth: /) as never)]);
  });
});

describe('how outcomes are shown', () => {
  it('exhausted, timed out, cancelled and failed: success false, each with its own fields', async () => {
    const denied = { fault: { kind: 'status' as const, status: 401, message: 'bad key' } };
    await using server = await startDialectServer('rx', {
      answers: { far: [looks, { text: 'as far as I came' }], slow: { text: 'x' }, stopped: { text: 'x' }, denied },
      held: ['slow', 'stopped'],
    });
    const stopping = server.call('subagent', { task: 'stopped' });
    const exhausted = parseStructured<Response>(await server.call('subagent', { task: 'far', max_iterations: 1 }));
    expect(Object.keys(exhausted)).toEqual(['success', 'summary', 'artifacts', 'error', 'duration_ms']);
    expect(exhausted).toMatchObject({ success: false, summary: 'as far as I came', error: expect.stringMatching(/^max_turns: /) });
    const late = parseStructured<Response>(await server.call('subagent', { task: 'slow', timeout_seconds: 1 }));
    expect(JSON.stringify({ ...late, duration_ms: 0 })).toBe(
      '{"success":false,"summary":"","artifacts":[],"error":"timed out","timed_out":true,"duration_ms":0}',
    );
    const failed = parseStructured<Response>(await server.call('subagent', { task: 'denied' }));
    expect(failed).toMatchObject({ success: false, summary: '', error: expect.stringMatching(/401|bad key/) });
    await server.asked('stopped');
    await server.cancelRun('stopped');
    const stopped = parseStructured<Response>(await stopping);
    expect(stopped).toMatchObject({ success: false, summary: '', artifacts: [], error: expect.stringMatching(/^cancelled: /) });
    expect([exhausted, failed, stopped].map((each) => 'timed_out' in each)).toEqual([false, false, false]);
  });
});

it('a client that gives up after its timeout loses nothing: the next result includes it', async () => {
  const answers = { slow: { text: 'the slow finding' }, quick: { text: 'quick' } };
  await using server = await startDialectServer('rx', { answers, held: ['slow'] });
  await expect(server.call('subagent', { task: 'slow' }, { timeout: 1000 })).rejects.toThrow(/timed out/i);
  await server.asked('slow');
  server.release('slow');
  const { runId } = await server.findRun('slow');
  await server.place.until(['show', runId], (run: { status: string }) => run.status === 'completed');
  const next = await server.call('subagent', { task: 'quick' });
  expect(next.structuredContent).toMatchObject({ success: true, summary: 'quick' });
  expect(readTexts(next)).toEqual([
    JSON.stringify(next.structuredContent),
    expect.stringContaining(`[run ${runId} · completed · 1 turn]\nthe slow finding`),
  ]);
});
