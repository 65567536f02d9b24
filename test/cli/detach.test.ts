// `run --detach`: what is handed to the background process, and that process itself. Real processes: detach-process.test.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DetachRequest, Io } from '../../src/cli/io.ts';
import { runDetached } from '../../src/cli/session/run-detached.ts';
import { RetinueError } from '../../src/contract/error.ts';
import { type Cli, createCli, createTestIo } from './support.ts';

const runId = '00000000000000a0';

describe('run --detach', () => {
  it('prints the id, and the request for the background process starts the same run', async () => {
    using cli = createCli({ files: { 'a.ts': 'content' } });
    const requests: DetachRequest[] = [];
    const detach: Io['detach'] = async (request) => {
      requests.push(request);
      return { runId, log: '/w/.retinue/logs/x.log' };
    };
    const flags = ['--agent', 'explore', '--file', 'a.ts', '--timeout', '5s', '--deny', 'bash'];
    const { code, stdout, stderr } = await cli.run(['run', '--detach', 'look', 'around', ...flags], { detach });
    expect([code, stdout]).toEqual([0, `${runId}\n`]);
    expect(stderr).toMatch(
      /retinue logs 00000000 -f · retinue wait 00000000 · retinue cancel 00000000[\s\S]*written to \/w\/\.retinue\/logs/,
    );
    expect(existsSync(join(cli.folder, '.retinue'))).toBe(false);
    const io = createTestIo(cli.parts);
    expect(await runDetached(io, requests[0] as DetachRequest, () => {})).toBe(0);
    const [created] = await cli.facts();
    expect(created?.data).toMatchObject({
      brief: { task: 'look around', agent: 'explore', files: ['a.ts'], limits: { timeoutMs: 5000 } },
      grant: {
        rulesets: expect.arrayContaining([
          expect.objectContaining({ rules: expect.arrayContaining([expect.objectContaining({ action: 'deny', tool: 'bash' })]) }),
        ]),
      },
    });
  });

  it('--json is the id', async () => {
    using cli = createCli();
    const detach = async () => ({ runId, log: 'x.log' });
    expect((await cli.run(['run', '-d', '--json', 'x'], { detach })).stdout).toBe(`{"runId":"${runId}"}\n`);
  });

  it('reports a refusal', async () => {
    using cli = createCli();
    const detach = async () => Promise.reject(new RetinueError('unknown_model', 'no model is configured'));
    expect(await cli.run(['run', '--detach', 'x'], { detach })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'retinue: no model is configured\n',
    });
  });
});

describe('the background process', () => {
  const request = (cli: Cli, brief: object) => ({ flags: { workspace: cli.folder, limits: {}, rules: [] }, brief, open: {} });

  it('reports the id at once, drives the run to its end and closes the database', async () => {
    using cli = createCli({ runs: [{ steps: [{ error: { status: 401, message: 'no' } }] }] });
    const io = createTestIo(cli.parts);
    const ids: string[] = [];
    expect(await runDetached(io, request(cli, { task: 'x' }), (id) => void ids.push(id))).toBe(1);
    expect((await cli.facts()).at(-1)).toMatchObject({ type: 'run.ended', runId: ids[0] });
    expect(io.openApis).toBe(0);
  });

  it('rejects with the refusal, and still closes the database', async () => {
    using cli = createCli();
    const io = createTestIo(cli.parts);
    await expect(runDetached(io, request(cli, { task: '' }), () => {})).rejects.toMatchObject({ code: 'invalid_brief' });
    expect(io.openApis).toBe(0);
  });

  it('cancels the run when it is interrupted', async () => {
    using cli = createCli({ runs: [{ steps: [{ hang: 'start' }] }] });
    const io = createTestIo(cli.parts);
    expect(await runDetached(io, request(cli, { task: 'x' }), () => io.stop())).toBe(130);
    expect((await cli.facts()).find(({ type }) => type === 'cancel.asked')?.data).toMatchObject({ reason: 'interrupted' });
  });
});
