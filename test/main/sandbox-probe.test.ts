// The sandbox is probed only by commands that drive runs.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPlace } from '../cli/support-process.ts';

describe.runIf(process.platform === 'linux')('the sandbox probe', () => {
  it('is started by run, but not by commands that only steer or import', { timeout: 60_000 }, async () => {
    const bin = mkdtempSync(join(tmpdir(), 'retinue-bwrap-'));
    onTestFinished(() => rmSync(bin, { recursive: true, force: true }));
    const probed = join(bin, 'probed');
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\ntouch '${probed}'\nexit 1\n`);
    chmodSync(join(bin, 'bwrap'), 0o755);
    using place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] }, { PATH: `${bin}:${process.env.PATH}` });
    expect((await place.run('run', 'go')).code).toBe(0);
    expect(existsSync(probed)).toBe(true);
    rmSync(probed);
    const file = join(place.folder, 'run.jsonl');
    expect((await place.run('export', 'last', '-o', file)).code).toBe(0);
    for (const args of [
      ['cancel', 'last'],
      ['pause', 'last'],
      ['import', file],
      ['approve'],
      ['refuse', 'none'],
      ['ps'],
      ['show', 'last'],
    ]) {
      await place.run(...args);
      expect(existsSync(probed), args.join(' ')).toBe(false);
    }
  });
});
