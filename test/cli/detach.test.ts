import { describe, expect, it } from 'vitest';
import { runDetached } from '../../src/cli/session/run-detached.ts';
import { RetinueError } from '../../src/contract/error.ts';
import { call, created, outcome, playing, rootId, run, world } from './support.ts';

describe('run --detach', () => {
  it('hands the brief over, prints the id and opens nothing itself', async () => {
    const argv = [
      'run',
      '--detach',
      'look',
      'around',
      '--agent',
      'explore',
      '--file',
      'a.ts',
      '--timeout',
      '5s',
      '--deny',
      'bash',
      '-C',
      'dir',
    ];
    const { code, stdout, stderr, io } = await run(argv);
    expect([code, stdout]).toEqual([0, `${rootId}\n`]);
    expect(stderr).toMatch(/retinue logs 00000000 -f · retinue wait 00000000 · retinue cancel 00000000[\s\S]*goes to \/w\/\.retinue\/logs/);
    expect(call(io, 'open')).toBeUndefined();
    const flags = { workspace: 'dir', limits: { timeoutMs: 5000 }, rules: ['deny bash'] };
    const brief = { task: 'look around', agent: 'explore', files: ['a.ts'], limits: { timeoutMs: 5000 } };
    expect(call(io, 'detach')).toEqual([{ flags: expect.objectContaining(flags), brief, open: {} }]);
  });

  it('--json is the id', async () => {
    expect((await run(['run', '-d', '--json', 'x'])).stdout).toBe(`{"runId":"${rootId}"}\n`);
  });

  it('passes a refusal on', async () => {
    const detach = async () => Promise.reject(new RetinueError('unknown_model', 'no model is configured'));
    expect(await run(['run', '--detach', 'x'], { io: { detach } })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'retinue: no model is configured\n',
    });
  });
});

describe('the background process', () => {
  const request = { flags: { limits: {}, rules: [] }, brief: { task: 'x' }, open: {} };

  it('tells the id at once, drives the run to its end and closes', async () => {
    const io = world({ api: playing([created()], outcome('failed')) });
    const ids: string[] = [];
    expect(await runDetached(io, request, (id) => void ids.push(id))).toBe(1);
    expect([ids, io.closed, io.stdout]).toEqual([[rootId], 1, 'It is small.\n']);
  });

  it('rejects with the refusal, and still closes', async () => {
    const start = async () => Promise.reject(new RetinueError('invalid_brief', 'no'));
    const io = world({ api: { start } });
    await expect(runDetached(io, request, () => {})).rejects.toMatchObject({ code: 'invalid_brief' });
    expect(io.closed).toBe(1);
  });

  it('ends the run when it is asked to stop', async () => {
    let cancelled = '';
    const api = { ...playing([], outcome('cancelled'), { cancel: (reason) => (cancelled = reason) }) };
    const io = world({ api });
    const code = runDetached(io, request, () => io.interrupt());
    expect([await code, cancelled]).toEqual([130, 'interrupted']);
  });
});
