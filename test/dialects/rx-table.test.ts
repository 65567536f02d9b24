// rx's tool as tables: limits, the stable shape, the same bytes for the same response, and the envelope.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  maxRequestBytes,
  maxResponseBytes,
  type RxResponse,
  readEnvelope,
  requestEnvelope,
  responseEnvelope,
  taskHash,
} from '../../src/dialects/rx/envelope.ts';
import { createEndedChild, createFailedChild, createRefusal, id, loadDialect, mcpContext, modelContext } from './table-support.ts';

const { request, result, findProblems } = loadDialect('rx');
const hash = createHash('sha256').update('look').digest('hex');
const brief = {
  task: 'look',
  limits: { maxTurns: 8, timeoutMs: 120_000 },
  result: { maxBytes: 16_384 },
  tags: ['rx.correlation=call', `rx.task=${hash}`],
};
const asks = (input: object, config = {}) => {
  const asked = loadDialect('rx', config).request('subagent', { task: 'look', ...input });
  return asked.kind === 'delegate' ? asked.briefs[0] : asked;
};
const limits = (maxTurns: number, seconds: number) => ({ ...brief, limits: { maxTurns, timeoutMs: seconds * 1000 } });

describe('requests', () => {
  test.each([
    { input: {}, wanted: brief },
    { input: { task: ' look ' }, wanted: brief },
    { input: { context: 'c', files: ['a'] }, wanted: { ...brief, context: 'c', files: ['a'] } },
    { input: { max_iterations: 3 }, wanted: limits(3, 120) },
    { input: { max_iterations: 9 }, wanted: limits(8, 120) },
    { input: { timeout_seconds: 600 }, wanted: limits(8, 600) },
    { input: { timeout_seconds: 601 }, wanted: limits(8, 600) },
    { input: { max_iterations: 0 }, wanted: { kind: 'refuse', message: 'validation: max_iterations (must be at least 1)' } },
    { input: { timeout_seconds: -1 }, wanted: { kind: 'refuse', message: 'validation: timeout_seconds (must be at least 1)' } },
    { input: { task: '' }, wanted: { kind: 'refuse', message: 'validation: task (must not be empty)' } },
    { config: { max_iterations: 4 }, input: { max_iterations: 9 }, wanted: limits(4, 120) },
    { config: { timeout_seconds: 30 }, input: {}, wanted: limits(8, 30) },
    { config: { timeout_seconds: 5000 }, input: {}, wanted: limits(8, 600) },
    { config: { enabled: false }, input: {}, wanted: { kind: 'refuse', message: 'not enabled' } },
  ])('$config $input', ({ input, wanted, config = {} }) => {
    expect(asks(input, config)).toEqual(wanted);
  });

  test('the parent blocks until the result is there, for models and over MCP', () => {
    for (const context of [modelContext, mcpContext]) expect(request('subagent', { task: 'x' }, context)).toMatchObject({ waitMs: null });
  });

  test.each([
    [{}, /^task: /],
    [{ task: 'x', timeout_seconds: '5' }, /^timeout_seconds: /],
    [{ task: 'x', max_iterations: 1.5 }, /^max_iterations: /],
    [{ task: 'x', files: [1] }, /^files\.0: /],
    [{ task: 'x', depth: 2 }, /depth/],
  ])('%j is refused by name', (input, said) => {
    expect(findProblems('subagent', input)).toMatch(said);
  });

  test('depth is a limit of the whole tree', () => {
    expect(loadDialect('rx').dialect.setup?.limits?.maxDepth).toBe(1);
    expect(loadDialect('rx', { max_depth: 0 }).dialect.setup?.limits?.maxDepth).toBe(0);
    expect(() => loadDialect('rx', { artifact_kinds: ['video'] })).toThrow(/artifact_kinds/);
  });
});

describe('results: one stable shape, keys in this order', () => {
  const artifact = (kind: 'note' | 'path' | 'diff' | 'json', value: string, title?: string) => ({
    kind,
    value,
    bytes: 1,
    ...(title && { title }),
  });
  test.each([
    {
      name: 'successful delegation returns stable summary/artifacts shape',
      child: createEndedChild({
        artifacts: [artifact('path', 'a.ts', 'created'), artifact('diff', '@@', 'a.ts'), artifact('note', '', 'whole output of grep')],
      }),
      wanted: {
        success: true,
        summary: 'done it',
        artifacts: [
          { kind: 'path', value: 'a.ts' },
          { kind: 'diff', value: '@@' },
          { kind: 'note', value: 'whole output of grep' },
        ],
        duration_ms: 5,
      },
    },
    {
      name: 'timeout returns deterministic timeout payload',
      child: createFailedChild('deadline', 'the deadline passed at 12:00', { status: 'timed_out' }),
      wanted: { success: false, summary: '', artifacts: [], error: 'timed out', timed_out: true, duration_ms: 5 },
    },
    {
      name: 'child runner exceeds output cap',
      child: createEndedChild({ truncated: { originalBytes: 90_000, keptBytes: 16_384 } }),
      wanted: {
        success: true,
        summary: 'done it\n[truncated: kept 16384 of 90000 bytes]',
        artifacts: [],
        truncated: [{ path: 'summary', unit: 'bytes', original: 90_000, kept: 16_384 }],
        duration_ms: 5,
      },
    },
    {
      name: 'malformed child output is normalized into schema error',
      child: createFailedChild('invalid_reply', 'facts.3.data: no such field 4711'),
      wanted: { success: false, summary: '', artifacts: [], error: 'validation: facts.3.data', duration_ms: 5 },
    },
    {
      name: 'child runner returns invalid JSON',
      child: createFailedChild('invalid_reply', 'line: Unexpected token < in JSON'),
      wanted: { success: false, summary: '', artifacts: [], error: 'validation: line', duration_ms: 5 },
    },
    {
      name: 'a schema violation after repair',
      child: createFailedChild('result_invalid', 'it broke'),
      wanted: { success: false, summary: '', artifacts: [], error: 'validation: data', duration_ms: 5 },
    },
    {
      name: 'child runner unavailable',
      child: createFailedChild('crashed', 'the process could not be started'),
      wanted: { success: false, summary: '', artifacts: [], error: 'crashed: the process could not be started', duration_ms: 5 },
    },
    {
      name: 'exhausted',
      child: createFailedChild('max_turns', 'the limit of 8 turns was reached', { status: 'exhausted', summary: 'half' }),
      wanted: { success: false, summary: 'half', artifacts: [], error: 'max_turns: the limit of 8 turns was reached', duration_ms: 5 },
    },
    {
      name: 'cancelled',
      child: createFailedChild('cancelled', 'enough', { status: 'cancelled' }),
      wanted: { success: false, summary: '', artifacts: [], error: 'cancelled: enough', duration_ms: 5 },
    },
  ])('$name', ({ child, wanted }) => {
    const given = result('subagent', { task: 'x' }, [child]);
    expect(given).toMatchObject({ isError: false, parts: [{ text: JSON.stringify(wanted), run: id }] });
  });

  test('policy for allowed returned artifact kinds', () => {
    const own = loadDialect('rx', { artifact_kinds: ['path'] });
    const child = createEndedChild({ artifacts: [artifact('path', 'a.ts'), artifact('diff', '@@')] });
    expect(own.result('subagent', { task: 'x' }, [child]).structured).toEqual({
      success: false,
      summary: 'done it',
      artifacts: [{ kind: 'path', value: 'a.ts' }],
      error: 'validation: artifacts.1.kind',
      duration_ms: 5,
    });
  });

  interface Cut {
    summary: string;
    artifacts: { value: string }[];
    truncated: { path: string; unit: string; original: number; kept: number }[];
  }

  test('many and large artifacts are bounded, and what was left out is data', () => {
    const small = createEndedChild({ artifacts: Array.from({ length: 70 }, () => artifact('path', 'a')) });
    const few = result('subagent', { task: 'x' }, [small]).structured as unknown as Cut;
    expect(few.artifacts).toHaveLength(64);
    expect(few.truncated).toEqual([{ path: 'artifacts', unit: 'items', original: 70, kept: 64 }]);
    const large = createEndedChild({ artifacts: Array.from({ length: 70 }, () => artifact('diff', 'x'.repeat(5000))) });
    const { artifacts, truncated } = result('subagent', { task: 'x' }, [large]).structured as unknown as Cut;
    expect(artifacts[0]?.value).toBe(`${'x'.repeat(4096)}\n[truncated: kept 4096 of 5000 bytes]`);
    expect(truncated.at(0)).toEqual({ path: 'artifacts.0.value', unit: 'bytes', original: 5000, kept: 4096 });
    expect(truncated.at(-1)).toEqual({ path: 'artifacts', unit: 'items', original: 70, kept: artifacts.length });
    expect(truncated).toHaveLength(artifacts.length + 1);
  });

  test('every response of the tool fits into an envelope', () => {
    const child = createEndedChild({
      summary: '\n'.repeat(16_384),
      artifacts: Array.from({ length: 64 }, () => artifact('note', '"'.repeat(4096))),
    });
    const response = result('subagent', { task: 'x' }, [child]).structured as RxResponse;
    const asked = requestEnvelope('\u0001'.repeat(200), { task: 'x', max_iterations: 8, timeout_seconds: 120 });
    expect(responseEnvelope(asked, response, '2026-01-01T00:00:00.000Z').response).toEqual(response);
    expect(response.success).toBe(true);
  });

  test('a caller’s smaller limit leaves JSON with right numbers', () => {
    const child = createEndedChild({ summary: 'é'.repeat(8000), truncated: { originalBytes: 90_000, keptBytes: 16_000 } });
    const given = result('subagent', { task: 'x' }, [child], { ...modelContext, maxOutputBytes: 1000 });
    expect(Buffer.byteLength(given.parts[0]?.text ?? '')).toBeLessThanOrEqual(1000);
    const { summary, truncated } = JSON.parse(given.parts[0]?.text ?? '') as Cut;
    const [, kept] = /\n\[truncated: kept (\d+) of 90000 bytes\]$/.exec(summary) ?? [];
    expect(truncated).toEqual([{ path: 'summary', unit: 'bytes', original: 90_000, kept: Number(kept) }]);
    expect(Buffer.byteLength(summary.slice(0, summary.lastIndexOf('\n')))).toBe(Number(kept));
  });

  test('a JSON artifact stays JSON when it is cut', () => {
    const child = createEndedChild({ artifacts: [artifact('json', JSON.stringify({ a: 'x'.repeat(9000), b: 7 }))] });
    const { artifacts } = result('subagent', { task: 'x' }, [child]).structured as unknown as Cut;
    expect(JSON.parse(artifacts[0]?.value ?? '')).toEqual({ a: expect.stringMatching(/of 9000 bytes\]$/), b: 7 });
  });

  test('a request that would not fit into an envelope is refused by the tool too', () => {
    expect(asks({ context: 'x'.repeat(maxRequestBytes) })).toMatchObject({
      message: expect.stringMatching(/^validation: request \(has more than 262144 bytes/),
    });
    expect(asks({ files: Array(101).fill('a') })).toMatchObject({
      kind: 'refuse',
      message: expect.stringMatching(/^validation: files \(/),
    });
  });

  test('repeated same mocked child response yields identical normalized output', () => {
    const text = (durationMs: number) => {
      const given = result('subagent', { task: 'x' }, [createEndedChild({ durationMs, artifacts: [artifact('json', '{"b":1,"a":2}')] })]);
      return given.parts[0]?.text.replace(/"duration_ms":\d+/, '');
    };
    expect(text(5)).toBe(text(999));
  });

  test.each([
    { reply: createRefusal('invalid_brief', 'not enabled'), error: 'not enabled' },
    { reply: createRefusal('depth', 'a run at depth 1 may not delegate'), error: 'depth: a run at depth 1 may not delegate' },
  ])('refused: $error', ({ reply, error }) => {
    const given = result('subagent', { task: 'x' }, [reply]);
    expect(given).toMatchObject({
      isError: true,
      parts: [{ text: JSON.stringify({ success: false, summary: '', artifacts: [], error, duration_ms: 0 }) }],
    });
  });
});

describe('the envelope', () => {
  const request = { task: 'look', max_iterations: 8, timeout_seconds: 120 };
  const asked = requestEnvelope('call-1', request);
  const answer = { success: true, summary: 's', artifacts: [{ kind: 'note' as const, value: 'n' }], duration_ms: 7 };
  const answered = responseEnvelope(asked, answer, '2026-01-01T00:00:00.000Z');

  test('keys have a fixed order, whatever the order of the input', () => {
    const turned = { timeout_seconds: 120, files: ['a'], max_iterations: 8, context: 'c', task: 'look' };
    expect(JSON.stringify(requestEnvelope('c', turned))).toBe(
      `{"version":1,"correlation_id":"c","request":{"task":"look","context":"c","files":["a"],"max_iterations":8,"timeout_seconds":120},"task_hash":"${hash}"}`,
    );
    expect(Object.keys(answered)).toEqual(['version', 'correlation_id', 'response', 'task_hash', 'started_at', 'duration_ms']);
    expect(taskHash(' look\n')).toBe(hash);
  });

  test.each([asked, answered])('an envelope can be read again', (envelope) => {
    expect(readEnvelope(JSON.stringify(envelope))).toEqual({ ok: true, envelope });
  });

  test('a response that is too large is a validation error that fits', () => {
    const artifacts = Array.from({ length: 64 }, () => ({ kind: 'note' as const, value: 'x'.repeat(4096) }));
    const error = 'validation: response (has more than 131072 bytes)';
    const made = responseEnvelope(asked, { ...answer, artifacts }, null);
    expect(made.response).toEqual({ success: false, summary: 's', artifacts: [], error, duration_ms: 7 });
    const huge = responseEnvelope(asked, { ...answer, summary: 'x'.repeat(maxResponseBytes) }, null);
    expect(huge.response).toMatchObject({ success: false, summary: '', error });
    for (const envelope of [made, huge]) expect(readEnvelope(JSON.stringify(envelope))).toEqual({ ok: true, envelope });
  });

  const changed = (envelope: object, more: object) => JSON.stringify({ ...envelope, ...more });
  test.each([
    ['{', 'validation: envelope (is not JSON)'],
    ['[]', /^validation: (envelope|version) /],
    [changed(asked, { version: 2 }), /^validation: version /],
    [changed(asked, { correlation_id: '' }), /^validation: correlation_id /],
    [changed(asked, { request: { ...request, task: ' ' } }), 'validation: request.task (must not be empty)'],
    [changed(asked, { request: { ...request, timeout_seconds: 601 } }), /^validation: request\.timeout_seconds /],
    [changed(asked, { request: { ...request, colour: 1 } }), /^validation: request\.colour /],
    [changed(asked, { task_hash: 'f'.repeat(64) }), 'validation: task_hash (does not match the task)'],
    [
      changed(answered, { response: { ...answer, artifacts: [{ kind: 'video', value: '' }] } }),
      /^validation: response\.artifacts\.0\.kind /,
    ],
    [changed(answered, { response: { ...answer, duration_ms: -1 } }), /^validation: response\.duration_ms /],
    [changed(answered, { started_at: 'yesterday' }), /^validation: started_at /],
    [changed(asked, { request: { ...request, context: 'x'.repeat(maxRequestBytes) } }), /^validation: envelope \(has more than 262144/],
    [changed(answered, { response: { ...answer, summary: 'x'.repeat(maxResponseBytes) } }), /^validation: envelope \(has more than 131072/],
  ])('%.40s… is refused with the path', (text, error) => {
    const read = readEnvelope(text);
    expect(read.ok).toBe(false);
    expect(read.ok ? '' : read.error).toMatch(error);
  });
});
