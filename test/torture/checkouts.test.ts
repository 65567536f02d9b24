// Kill -9 at the steps of making a copy, keeping what was changed, applying it, taking it back and discarding it. After each
// kill a second process completes the work.
// `RETINUE_TORTURE=full` kills at every time that a step comes; without it, at the first.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outputOf } from '../support/output.ts';

const program = resolve(import.meta.dirname, 'retinue.ts');
const write = (path: string, content: string) => ({ tool: 'write', args: { path, content } });
const steps = [
  { calls: [write('a.txt', 'changed\n')] },
  { calls: [write('b.txt', 'B\n'), write('deep/new.txt', 'new\n')] },
  { text: 'done' },
];
const before = { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' };
const after = { 'a.txt': 'changed\n', 'b.txt': 'B\n', 'c.txt': 'c\n', 'deep/new.txt': 'new\n' };

/** A workspace and a home, both below one folder. */
class Place {
  readonly top: string;

  constructor(from?: Place) {
    this.top = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-kill-')));
    if (from) cpSync(from.top, this.top, { recursive: true });
  }

  get work(): string {
    return join(this.top, 'work');
  }

  run(args: string[], crash?: string): Promise<{ code: number | null; killed: boolean; out: string; err: string }> {
    const env = {
      PATH: process.env.PATH,
      HOME: join(this.top, 'home'),
      NO_COLOR: '1',
      RETINUE_MODEL: 'script/script.json',
      RETINUE_CRASH: crash ?? '',
    };
    const child = spawn(process.execPath, [program, ...args, '-C', this.work], { cwd: this.work, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = outputOf(child);
    return new Promise((done) => child.on('close', (code, signal) => done({ code, killed: signal === 'SIGKILL', ...said })));
  }

  files(): Record<string, string> {
    const names = readdirSync(this.work, { recursive: true, encoding: 'utf8' }).filter(
      (name) => /\.txt$/.test(name) && !name.startsWith('.'),
    );
    return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(this.work, name), 'utf8')]));
  }

  /** Files of Retinue that a killed process left among those of the user. */
  temporary(): string[] {
    return readdirSync(this.work, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'));
  }

  checkouts(): string[] {
    const folder = join(this.top, 'home/.local/state/retinue/checkouts');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  remove(): void {
    rmSync(this.top, { recursive: true, force: true, maxRetries: 3 });
  }
}

function createPlace(): Place {
  const place = new Place();
  for (const name of ['work', 'home']) mkdirSync(join(place.top, name));
  for (const [name, text] of Object.entries(before)) writeFileSync(join(place.work, name), text);
  writeFileSync(join(place.work, 'script.json'), JSON.stringify({ runs: [{ steps }] }));
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], { cwd: place.work });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'first');
  return place;
}

const mostKills = process.env.RETINUE_TORTURE === 'full' ? Number.POSITIVE_INFINITY : 1;

/** Kills the command at the n-th time of a point, for n = 1, 2, … until it is not killed any more. Returns how often it was. */
async function killEach(point: string, prepare: () => Place, attempt: (place: Place, crash: string) => Promise<boolean>): Promise<number> {
  for (let n = 1; ; n++) {
    if (n > mostKills) return mostKills;
    const place = prepare();
    try {
      if (!(await attempt(place, `${point}:${n}`))) return n - 1;
    } finally {
      place.remove();
    }
  }
}

describe('killed', { timeout: 300_000 }, () => {
  it.each([
    ['before workspace.git', Math.min(10, mostKills)],
    ['before workspace.prepared', 1],
    ['after workspace.prepared', 1],
    ['before workspace.saved', 1],
    ['after workspace.saved', 1],
    ['before workspace.remove', 1],
    ['after workspace.remove', 1],
  ])('%s: a run is completed once, and nothing is lost or left', async (point, least) => {
    const kills = await killEach(point, createPlace, async (place, crash) => {
      const first = await place.run(['run', 'go', '--worktree'], crash);
      if (first.killed) await place.run(['resume']);
      expect(place.files(), crash).toEqual(before);
      const shown = JSON.parse((await place.run(['show', 'last', '--json'])).out);
      expect(shown.outcome, crash).toMatchObject({ status: 'completed' });
      await place.run(['doctor', '--repair']);
      expect(place.checkouts(), crash).toEqual([]);
      expect(await place.run(['apply', 'last']), crash).toMatchObject({ code: 0 });
      expect(place.files(), crash).toEqual(after);
      return first.killed;
    });
    expect(kills).toBeGreaterThanOrEqual(least);
  });

  describe('while the changes are made', () => {
    let ended: Place;
    beforeAll(async () => {
      ended = createPlace();
      expect(await ended.run(['run', 'go', '--worktree'])).toMatchObject({ code: 0 });
      writeFileSync(join(ended.work, 'b.txt'), 'b\n');
    }, 120_000);
    afterAll(() => ended.remove());

    // The copy of a place is another database, so commands adopt it.
    const points = [
      'before changes.planned',
      'after changes.planned',
      'before workspace.path',
      'after workspace.path',
      'before changes.made',
      'after changes.made',
    ];

    it.each(points)('%s: apply can be repeated', async (point) => {
      const kills = await killEach(
        point,
        () => new Place(ended),
        async (place, crash) => {
          const id = JSON.parse((await place.run(['show', 'last', '--json'])).out).runId;
          const first = await place.run(['apply', id, '--adopt'], crash);
          const again = await place.run(['apply', id, '--adopt']);
          expect(again, `${crash} ${again.err}`).toMatchObject({ code: 0 });
          expect(place.files(), crash).toEqual(after);
          expect(place.temporary(), crash).toEqual([]);
          const isPlanned = point !== 'before changes.planned' && point !== 'after changes.made';
          if (first.killed && isPlanned) expect(again.out).toContain('completed the interrupted apply of');
          return first.killed;
        },
      );
      expect(kills).toBeGreaterThanOrEqual(1);
    });

    it.each(['before changes.discarded', 'after changes.discarded'])('%s: discard can be repeated', async (point) => {
      const place = new Place(ended);
      try {
        const id = JSON.parse((await place.run(['show', 'last', '--json'])).out).runId;
        expect(await place.run(['discard', id, '--adopt'], `${point}:1`)).toMatchObject({ killed: true });
        expect(await place.run(['discard', id, '--adopt'])).toMatchObject({ code: 0 });
        const applied = await place.run(['apply', id, '--adopt']);
        expect(applied.code).not.toBe(0);
        expect(applied.err).toContain('were discarded');
        expect(place.files()).toEqual(before);
      } finally {
        place.remove();
      }
    });

    it('doctor finds what was interrupted and completes it', async () => {
      const place = new Place(ended);
      try {
        const id = JSON.parse((await place.run(['show', 'last', '--json'])).out).runId;
        expect(await place.run(['apply', id, '--adopt'], 'before workspace.path:1')).toMatchObject({ killed: true });
        const [left = ''] = place.temporary();
        expect(left).toMatch(/\.retinue-[\da-f]{16}\.tmp$/);
        expect((await place.run(['doctor'])).out).toContain(left);
        expect((await place.run(['doctor', '--repair'])).out).toMatch(/interrupted changes +completed/);
        expect([place.files(), place.temporary()]).toEqual([after, []]);
        expect((await place.run(['doctor'])).out).not.toContain('interrupted changes');
      } finally {
        place.remove();
      }
    });

    it.each(['after changes.planned', 'after workspace.path', 'before changes.made'])('%s: undo can be repeated', async (point) => {
      const kills = await killEach(
        point,
        () => new Place(ended),
        async (place, crash) => {
          const id = JSON.parse((await place.run(['show', 'last', '--json'])).out).runId;
          await place.run(['apply', id, '--adopt']);
          const first = await place.run(['undo', id, '--adopt'], crash);
          const again = await place.run(['undo', id, '--adopt']);
          expect(again, `${crash} ${again.err}`).toMatchObject({ code: 0 });
          expect(place.files(), crash).toEqual(before);
          return first.killed;
        },
      );
      expect(kills).toBeGreaterThanOrEqual(1);
    });
  });
});
