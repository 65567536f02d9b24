// A process that is killed while its first run starts: git is then reading the state of the workspace, in a sandbox.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTorturePlace } from './place.ts';

const kills = 10;
/** The command is there for the case that git was too fast to be seen. */
const script = { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command: 'sleep 30' } }] }] }] };

/** Processes with this text in their command line. */
function processesOf(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text) ? [Number(name)] : [];
    } catch {
      return []; // It has ended.
    }
  });
}

describe.runIf(process.platform === 'linux')('kill -9 while a run starts', () => {
  it(`leaves no process, ${kills} times`, { timeout: 120_000 }, async () => {
    const place = createTorturePlace('http://127.0.0.1:9');
    onTestFinished(() => {
      for (const pid of processesOf(place.folder)) process.kill(pid, 'SIGKILL');
      place.remove();
    });
    execFileSync('git', ['init', '-q', place.folder]);
    writeFileSync(join(place.folder, 's.json'), JSON.stringify(script));
    for (let kill = 0; kill < kills; kill++) {
      const when = () => processesOf(place.folder).length > 0;
      const { killed, err } = await place.run(['run', '--model', 'script/s.json', '--allow', 'bash', '--plain', 'x'], { when });
      expect(killed, err).toBe(true);
      await expect.poll(() => processesOf(place.folder), { timeout: 5000 }).toEqual([]);
    }
  });
});
