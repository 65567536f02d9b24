// `retinue flow` with real processes: trust, kill -9 and resume, a changed file.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHeldModel } from './support-held-model.ts';
import { createPlace, type Place } from './support-process.ts';

const child = { runs: [{ times: 'any', steps: [{ text: 'fine' }] }] };

function addFlow(place: Place, files: Record<string, string>): void {
  mkdirSync(join(place.folder, '.retinue', 'flows'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.folder, '.retinue', 'flows', name), text);
}

function addDependency(place: Place, version: string, content = ''): void {
  const folder = join(place.folder, 'node_modules', 'dependency');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'dependency', version, exports: './index.mjs' }));
  writeFileSync(join(folder, 'index.mjs'), content);
}

const slow = `
import { defineFlow } from 'retinue/flow';
import { appendFileSync, existsSync } from 'node:fs';
import { note } from './_helper.ts';
import 'dependency';
export default defineFlow('slow', null, async (flow, input: { n: number }) => {
  const first: number = await flow.step('first', () => { appendFileSync('effects.txt', note); return input.n; });
  const { summary } = await flow.delegate({ task: 'x', label: 'child' });
  await flow.step('wait', async ({ signal }) => {
    while (!existsSync('go')) { if (signal.aborted) throw new Error('stopped'); await new Promise((done) => setTimeout(done, 20)); }
  }, { idempotent: true });
  return { first, summary };
});
`;

describe('retinue flow', () => {
  it('needs trust for the files of the workspace, continues after kill -9, and refuses a changed file or package', async () => {
    using place = createPlace(child);
    addFlow(place, { 'slow.ts': slow, '_helper.ts': "export const note: string = 'one ';" });
    addDependency(place, '1.0.0');
    expect((await place.run('flow', 'list')).out).toMatch(/slow\s+untrusted/);
    const refused = await place.run('flow', 'run', 'slow', '--input', '{"n":3}');
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('it is not trusted. Read it, then run `retinue trust`')]);
    expect((await place.run('trust', '--yes')).out).toMatch(/slow\.ts[\s\S]*_helper\.ts|_helper\.ts[\s\S]*slow\.ts/);
    expect(JSON.parse((await place.run('flow', 'list', '--json')).out)).toMatchObject([{ name: 'slow', state: 'trusted' }]);

    const first = place.start('flow', 'run', 'slow', '--input', '{"n":3}');
    const facts = await place.facts((all) => all.some((fact) => fact.type === 'step.started' && fact.data.name === 'wait'));
    first.process.kill('SIGKILL');
    await first.finished;
    const [root] = facts;
    const id = root?.runId as string;

    addFlow(place, { '_helper.ts': "export const note: string = 'two ';" });
    const changed = /slow\.ts, or a file that it imports, has changed since it began\. Restore it, or cancel the run/;
    expect((await place.run('resume', id)).err).toMatch(changed);
    addFlow(place, { '_helper.ts': "export const note: string = 'one ';" });
    addDependency(place, '1.0.1');
    expect((await place.run('resume', id)).err).toMatch(changed);
    // The version of a package counts, its content does not.
    addDependency(place, '1.0.0', 'export const changed = true;');

    const rows = JSON.parse((await place.run('ps', '--all', '--json')).out);
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ runId: id, parentId: null, rootId: id, depth: 0 }),
        expect.objectContaining({ label: 'child', parentId: id, rootId: id, depth: 1 }),
      ]),
    );
    // The table shows the flow in the column PARENT of its child.
    const lines = (await place.run('ps', '--all')).out.split('\n');
    const [shortId] = lines.find((line) => line.endsWith(' slow'))?.split(' ') ?? [];
    expect(id.startsWith(shortId ?? '?')).toBe(true);
    expect(lines.find((line) => line.endsWith(' child'))).toContain(` ${shortId} `);
    writeFileSync(join(place.folder, 'go'), '');
    const resumed = await place.run('resume', id, '--json');
    expect(resumed.err).not.toMatch(/cannot/);
    const shown = JSON.parse((await place.run('show', id, '--json')).out);
    expect(shown.outcome).toMatchObject({ status: 'completed', data: { first: 3, summary: 'fine' } });
    expect(readFileSync(join(place.folder, 'effects.txt'), 'utf8')).toBe('one ');
    const log = await place.run('logs', id);
    expect(log.out).toMatch(/step\.started +.*1\. step · first · slow\.ts:7/);
    expect((await place.run('replay', id)).code).toBe(0);
    expect((await place.run('verify')).code).toBe(0);
  }, 120_000);

  it('is paused with everything that it delegated, continued in its process, and has no conversation to compact', async () => {
    const look = { calls: [{ tool: 'list', args: { path: '.' } }] };
    await using model = await startHeldModel({ part: [{ ...look, held: true }, { text: 'fine' }] });
    using place = createPlace({}, model.variables);
    const program = "async (flow) => (await flow.delegate({ task: 'part' })).summary";
    writeFileSync(
      join(place.folder, 'parts.ts'),
      `import { defineFlow } from 'retinue/flow'; export default defineFlow('parts', null, ${program});`,
    );
    const running = place.start('flow', 'run', './parts.ts');
    const [root] = await place.facts((found) => found.some(({ type }) => type === 'model.asked'));
    const id = root?.runId as string;
    expect(await place.run('message', id, '--compact')).toMatchObject({
      code: 2,
      err: expect.stringContaining('is a flow, which has no conversation'),
    });

    const pausing = place.start('pause', id);
    await place.facts((found) => found.some(({ type }) => type === 'run.paused'));
    await place.untilOrdersRead();
    // The flow has paused, and its child waits for a model call.
    expect((await place.run('ps')).code).toBe(0);
    expect(pausing.process.exitCode).toBeNull();
    model.release();
    expect(await pausing.finished).toMatchObject({ code: 0, out: expect.stringMatching(/is paused; continue with `retinue resume/) });
    expect((await place.facts(() => true)).filter(({ type }) => type === 'run.paused')).toHaveLength(2);

    expect(await place.run('resume', id)).toMatchObject({ code: 0, err: expect.stringContaining('continues in its own process') });
    expect(await running.finished).toMatchObject({ code: 0, out: 'fine\n' });
  }, 120_000);

  it.each([
    [
      'a promise that nothing waits for',
      "void (async () => { await flow.sleep(1); throw new Error('lost'); })(); await flow.sleep(60_000);",
    ],
    ['a timer', "setTimeout(() => { throw new Error('lost'); }, 1); await flow.sleep(60_000);"],
  ])(
    'an error in %s ends the flow, and not the process',
    async (_, program) => {
      using place = createPlace(child);
      addFlow(place, {
        'lost.ts': `import { defineFlow } from 'retinue/flow'; export default defineFlow('lost', null, async (flow) => { ${program} });`,
      });
      expect((await place.run('trust', '--yes')).code).toBe(0);
      const ended = await place.run('flow', 'run', 'lost', '--json');
      expect(ended.code).toBe(1);
      expect(JSON.parse(ended.out)).toMatchObject({
        status: 'failed',
        error: { code: 'flow_failed', message: expect.stringContaining('lost') },
      });
      expect((await place.run('resume')).err).toContain('there is nothing to resume');
    },
    120_000,
  );

  it('ends its process after it was cancelled, also if a side effect ignores that', async () => {
    using place = createPlace(child);
    writeFileSync(
      join(place.folder, 'deaf.ts'),
      `import { defineFlow } from 'retinue/flow';
export default defineFlow('deaf', null, async (flow) => flow.step('wait', () => new Promise((done) => setTimeout(done, 3_600_000))));`,
    );
    const running = place.start('flow', 'run', './deaf.ts');
    const [root] = await place.facts((found) => found.some(({ type }) => type === 'step.started'));
    expect((await place.run('cancel', root?.runId as string)).code).toBe(0);
    expect(await running.finished).toMatchObject({ code: 130, err: expect.stringMatching(/cancelled/) });
  }, 60_000);

  it('refuses what is not a flow, an import that cannot be checked, and an input that does not match', async () => {
    using place = createPlace(child);
    const write = (name: string, text: string) => writeFileSync(join(place.folder, name), text);
    write('none.ts', 'export default 3;');
    write(
      'dynamic.ts',
      "import { defineFlow } from 'retinue/flow'; const other = './ot' + 'her.ts'; export default defineFlow('d', null, async () => (await import(other)).x);",
    );
    write('other.ts', 'export const x = 1;');
    write(
      'strict.ts',
      "import { defineFlow } from 'retinue/flow'; export default defineFlow('s', { type: 'object', required: ['a'] }, async () => 'text');",
    );
    expect((await place.run('flow', 'run', './none.ts')).err).toMatch(/its default export must be the result of `defineFlow`/);
    expect(await place.run('flow', 'run', './dynamic.ts')).toMatchObject({
      code: 1,
      err: expect.stringContaining('write an existing path as a string literal'),
    });
    expect(await place.run('flow', 'run', './strict.ts')).toMatchObject({ code: 2, err: expect.stringContaining('the input of flow s') });
    expect(await place.run('flow', 'run', './strict.ts', '--input', '{"a":1}')).toMatchObject({ code: 0, out: 'text\n' });
    expect((await place.run('flow', 'run', 'revie')).err).toMatch(/flows are files in \.retinue\/flows/);
    const detached = await place.run('flow', 'run', './strict.ts', '--input', '{"a":1}', '--detach', '--json');
    const { runId } = JSON.parse(detached.out);
    expect((await place.run('wait', runId)).out).toBe('text\n');
  }, 120_000);
});
