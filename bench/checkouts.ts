// What files of a run's own cost: a copy of a repository with 10,000 files against git's own checkout of them, and applying the changes of 8 runs with
// 200 files each. `node bench/checkouts.ts [rounds]`
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PathChange } from '../src/contract/change-set.ts';
import { createCheckouts } from '../src/workspaces/checkouts.ts';

const rounds = Number(process.argv[2] ?? 5);
const top = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
const work = join(top, 'work');
const env = { PATH: process.env.PATH, HOME: top };
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, { cwd, env: { ...env, GIT_CONFIG_NOSYSTEM: '1' }, stdio: 'pipe' });
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const signal = new AbortController().signal;

function createFiles(): void {
  for (let folder = 0; folder < 200; folder++) {
    mkdirSync(join(work, `src/part${folder}`), { recursive: true });
    for (let file = 0; file < 50; file++)
      writeFileSync(join(work, `src/part${folder}/file${file}.ts`), `export const value${file} = ${folder * 50 + file};\n`.repeat(20));
  }
  git(work, 'init', '-q');
  git(work, 'add', '-A');
  git(work, '-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-qm', 'first');
  writeFileSync(join(work, 'src/part0/file0.ts'), 'changed\n');
  writeFileSync(join(work, 'untracked.ts'), 'new\n');
}

async function measure(action: () => unknown): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

async function measureCopies(): Promise<void> {
  const checkouts = createCheckouts({ env, root: join(top, 'state'), shared: 'all' });
  const own: number[] = [];
  const plain: number[] = [];
  const saves: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const runId = n.toString(16).padStart(16, '0');
    const source = { kind: 'folder' as const, path: work };
    const request = { runId, rootId: runId, source, previous: null, saved: null, attached: { from: work, paths: [] }, signal };
    const other = join(top, `worktree-${n}`);
    plain.push(await measure(() => git(work, 'worktree', 'add', '-q', '--detach', other)));
    let prepared: Awaited<ReturnType<typeof checkouts.prepare>> | null = null;
    own.push(
      await measure(async () => {
        prepared = await checkouts.prepare(request);
      }),
    );
    if (!prepared) throw new Error('no copy');
    const made: Awaited<ReturnType<typeof checkouts.prepare>> = prepared;
    writeFileSync(join(made.data.path, 'src/part1/file1.ts'), 'changed\n');
    saves.push(await measure(() => checkouts.save(runId, made)));
    await checkouts.remove(runId, made);
    git(work, 'worktree', 'remove', '-f', other);
  }
  console.log(`git worktree add, 10,000 files     ${median(plain).toFixed(0)} ms`);
  console.log(`copy with snapshot, 10,000 files   ${median(own).toFixed(0)} ms`);
  console.log(`keeping one changed file           ${median(saves).toFixed(0)} ms`);
}

async function measureApply(): Promise<void> {
  const { changes } = createCheckouts({ env, root: join(top, 'state'), shared: 'all' });
  const contents = new Map<string, Buffer>();
  const state = (text: string) => {
    const content = Buffer.from(text);
    const hash = createHash('sha256').update(content).digest('hex');
    contents.set(hash, content);
    return { mode: '100644' as const, hash, bytes: content.length };
  };
  // Every run changes another line of the same 200 files, so every file is merged seven times.
  const text = (changed: number[]) =>
    Array.from({ length: 80 }, (_, n) => (changed.includes(n) ? `changed ${n}\n` : `line ${n}\n`)).join('');
  const paths = Array.from({ length: 200 }, (_, n) => `merge/file${n}.ts`);
  mkdirSync(join(work, 'merge'));
  for (const path of paths) writeFileSync(join(work, path), text([]));
  const sets = Array.from({ length: 8 }, (_, run) => ({
    runId: String(run),
    set: { v: 1 as const, changes: paths.map((path): PathChange => ({ path, before: state(text([])), after: state(text([run * 10])) })) },
  }));
  const read = async (hash: string) => contents.get(hash) ?? null;
  const times: number[] = [];
  for (let n = 0; n < rounds; n++) {
    for (const path of paths) writeFileSync(join(work, path), text([]));
    times.push(
      await measure(async () => {
        const plan = await changes.plan({ workspace: work, changes: sets, read, refuse: () => null });
        for (const { hash, content } of plan.blobs) contents.set(hash, Buffer.from(content));
        const left = await changes.carryOut(work, plan.set, { read, key: String(n) });
        if (plan.conflicts.length + left.length > 0 || plan.set.changes.length !== 200) throw new Error('not applied');
      }),
    );
  }
  console.log(`apply of 8 runs with 200 files     ${median(times).toFixed(0)} ms`);
}

try {
  mkdirSync(work);
  createFiles();
  await measureCopies();
  await measureApply();
} finally {
  rmSync(top, { recursive: true, force: true });
}
