// `run --detach` with real processes: the run outlives the command that asked for it, and its process ends with it.
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { createPlace, type Place } from './support-process.ts';

const one = (...steps: object[]) => ({ runs: [{ steps }] });
type View = { runId: string; status: string };

/** Command lines of the background processes of a place (Linux). */
function background({ folder }: Place): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return line.includes('--detached-run') && readlinkSync(`/proc/${pid}/cwd`) === folder ? [line] : [];
      } catch {
        return [];
      }
    });
}

const onLinux = process.platform === 'linux';

describe('a detached run', () => {
  it('continues after the command has returned, can be followed and waited for, and ends its process', async () => {
    const waits = { calls: [{ tool: 'bash', args: { command: 'until test -e finish; do sleep 0.05; done' } }] };
    using place = createPlace(one(waits, { text: 'canary of an answer' }));
    const asked = await place.run('run', '--detach', '--json', '--allow', 'bash', 'canary of a task');
    expect(asked.code).toBe(0);
    const { runId } = JSON.parse(asked.out) as View;
    const live = JSON.parse((await place.run('ps', '--json')).out) as View[];
    expect(live.map((run) => run.runId)).toEqual([runId]);
    if (onLinux) {
      expect(background(place)).toHaveLength(1);
      expect(background(place)[0]).not.toContain('canary');
    }
    const follow = place.start('logs', runId, '-f', '--json');
    const waiting = place.run('wait', runId);
    await follow.untilOutput((out) => out.includes('"tool.asked"'));
    writeFileSync(join(place.folder, 'finish'), '');
    const waited = await waiting;
    expect([waited.code, waited.out]).toEqual([0, 'canary of an answer\n']);
    const facts = (await follow.finished).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Fact);
    expect([facts[0]?.type, facts.at(-1)?.type]).toEqual(['run.created', 'run.ended']);
    if (onLinux) await expect.poll(() => background(place)).toEqual([]);
    const log = readFileSync(join(place.folder, '.retinue', 'logs', `${runId}.log`), 'utf8');
    expect(log).toMatch(/started[\s\S]*canary of an answer\n[\s\S]*completed/);
  });

  it('can be cancelled from another process, and its own process ends', async () => {
    using place = createPlace(one({ hang: 'start' }));
    const asked = await place.run('run', '--detach', 'work');
    const runId = asked.out.trim();
    expect([asked.code, runId]).toEqual([0, expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect((await place.run('cancel', runId, '--reason', 'enough')).code).toBe(0);
    expect((await place.run('wait', runId)).code).toBe(130);
    if (onLinux) await expect.poll(() => background(place)).toEqual([]);
  });

  it('has the files of --file in its first message', async () => {
    using place = createPlace(one({ expect: { prompt: 'script.json' }, text: 'seen' }));
    const { out } = await place.run('run', '--detach', '--json', '--file', 'script.json', 'work');
    const { runId } = JSON.parse(out) as View;
    expect((await place.run('wait', runId)).code).toBe(0);
    const shown = JSON.parse((await place.run('show', runId, '--json')).out);
    expect(shown.brief.files).toEqual(['script.json']);
  });

  const refusals: [args: string[], says: RegExp][] = [
    [['--agent', 'explor'], /unknown agent `explor`; did you mean `explore`/],
    [['--model', 'scrpt/x'], /scrpt/],
    [['--tools', 'raed'], /raed.*read/],
    [['--db', 'script.json'], /script\.json/],
    [['--timeout', '0'], /--timeout/],
  ];
  it.each(refusals)('%j is refused in the terminal that started it', async (args, says) => {
    using place = createPlace(one({ text: 'x' }));
    const { code, out, err } = await place.run('run', '--detach', ...args, 'work');
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(says);
    expect(err).not.toMatch(/\n\s+at /);
    if (onLinux) await expect.poll(() => background(place)).toEqual([]);
  });
});
