// Which files of a flow need trust: all that are executed, however they are named.
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';
import { createServedPlace } from './support-server.ts';

const script = { runs: [{ times: 'any', steps: [{ text: 'fine' }] }] };

function write(place: Place, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(place.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

function link(place: Place, target: string, name: string): void {
  mkdirSync(dirname(join(place.folder, name)), { recursive: true });
  symlinkSync(join(place.folder, target), join(place.folder, name));
}

/** Leaves a file when it is executed, and waits for another one before it ends. */
const hidden = `
import { existsSync, writeFileSync } from 'node:fs';
import { defineFlow } from 'retinue/flow';
writeFileSync('executed', '');
export default defineFlow('hidden', null, async (flow) => {
  await flow.step('wait', async ({ signal }) => {
    while (!existsSync('go') && !signal.aborted) await new Promise((done) => setTimeout(done, 20));
  }, { idempotent: true });
  return 'end';
});
`;
const notTrusted = expect.stringContaining('it is not trusted. Read it, then run `retinue trust`');
const changed = expect.stringContaining('has changed since you trusted it');

describe('a flow that is a link', () => {
  it('needs trust as a link to a file and in a folder that is a link, by name, by path and when it is resumed', async () => {
    using place = createPlace(script);
    write(place, { 'src/hidden.ts': hidden });
    link(place, 'src/hidden.ts', '.retinue/flows/link.ts');
    for (const given of ['link', '.retinue/flows/link.ts', './src/../.retinue/flows/link.ts'])
      expect(await place.run('flow', 'run', given)).toMatchObject({ code: 2, err: notTrusted });
    rmSync(join(place.folder, '.retinue/flows'), { recursive: true });
    link(place, 'src', '.retinue/flows');
    for (const given of ['hidden', '.retinue/flows/hidden.ts'])
      expect(await place.run('flow', 'run', given)).toMatchObject({ code: 2, err: notTrusted });

    expect(existsSync(join(place.folder, 'executed'))).toBe(false);
    expect((await place.run('trust', '--yes')).out).toContain('src/hidden.ts');
    const first = place.start('flow', 'run', 'hidden');
    const [root] = await place.facts((all) => all.some(({ type }) => type === 'step.started'));
    first.process.kill('SIGKILL');
    await first.finished;
    await place.run('trust', '--revoke');
    writeFileSync(join(place.folder, 'go'), '');
    expect((await place.run('resume', root?.runId as string)).err).toContain('it is not trusted');
    await place.run('trust', '--yes');
    expect(await place.run('resume', root?.runId as string)).toMatchObject({ code: 0 });
  }, 120_000);

  it('needs trust on a server', async () => {
    const served = await createServedPlace(script);
    try {
      write(served.place, { 'src/hidden.ts': hidden, go: '' });
      link(served.place, 'src/hidden.ts', '.retinue/flows/link.ts');
      expect(await served.run('flow', 'run', 'link')).toMatchObject({ code: 2, err: notTrusted });
      expect(existsSync(join(served.place.folder, 'executed'))).toBe(false);
      await served.place.run('trust', '--yes');
      expect(await served.run('flow', 'run', 'link')).toMatchObject({ code: 0, out: 'end\n' });
    } finally {
      await served.stop();
      served[Symbol.dispose]();
    }
  }, 120_000);
});

describe('a flow in a folder of the folder of flows', () => {
  const flow = "import { defineFlow } from 'retinue/flow'; export default defineFlow('deep', null, async () => 'deep');";

  it('can be trusted and run by path, but has no name', async () => {
    using place = createPlace(script);
    write(place, { '.retinue/flows/sub/deep.ts': flow });
    expect(await place.run('flow', 'run', '.retinue/flows/sub/deep.ts')).toMatchObject({ code: 2, err: notTrusted });
    expect((await place.run('trust', '--yes')).out).toContain('sub/deep.ts');
    expect(await place.run('flow', 'run', '.retinue/flows/sub/deep.ts')).toMatchObject({ code: 0, out: 'deep\n' });
    expect(JSON.parse((await place.run('flow', 'list', '--json')).out)).toEqual([]);
  }, 60_000);

  it('is refused with the reason if `retinue trust` does not offer it', async () => {
    using place = createPlace(script);
    write(place, { '.retinue/flows/_part.ts': flow, '.retinue/flows/some.test.ts': flow, 'src/linked.ts': flow });
    link(place, 'src', '.retinue/flows/link');
    expect((await place.run('trust')).err).toContain('no file asks for trust');
    for (const name of ['_part.ts', 'some.test.ts', 'link/linked.ts'])
      expect(await place.run('flow', 'run', `.retinue/flows/${name}`), name).toMatchObject({
        code: 2,
        err: expect.stringContaining('`retinue trust` does not offer it. It leaves out tests, names that begin'),
      });
  }, 60_000);
});

describe('a flow that imports by package name', () => {
  const flow = `
import { defineFlow } from 'retinue/flow';
import { a } from '#alias';
import { b } from 'mine/self';
import { c } from 'linked';
import { d } from 'installed';
export default defineFlow('names', null, async () => [a, b, c, d].join(' '));
`;
  const local = { '#alias': 'lib/alias.ts', 'mine/self': 'lib/self.ts', linked: 'packages/linked/index.ts' };

  it('needs trust for every file of the workspace that the names lead to, but not for installed packages', async () => {
    using place = createPlace(script);
    write(place, {
      'package.json': JSON.stringify({
        name: 'mine',
        type: 'module',
        imports: { '#alias': { import: './lib/alias.ts', default: './lib/other.ts' } },
        exports: { './self': './lib/self.ts' },
      }),
      'lib/alias.ts': "export const a: string = 'a';",
      'lib/self.ts': "export const b: string = 'b';",
      'packages/linked/package.json': '{"name":"linked","exports":"./index.ts"}',
      'packages/linked/index.ts': "import { c as from } from './c.ts'; export const c: string = from;",
      'packages/linked/c.ts': "export const c: string = 'c';",
      'node_modules/installed/package.json': '{"name":"installed","version":"1.0.0","exports":"./index.mjs"}',
      'node_modules/installed/index.mjs': "export const d = 'd';",
      '.retinue/flows/names.ts': flow,
    });
    link(place, 'packages/linked', 'node_modules/linked');
    const { out } = await place.run('trust', '--yes');
    for (const file of [...Object.values(local), 'packages/linked/c.ts', '.retinue/flows/names.ts']) expect(out).toContain(file);
    expect(out).not.toContain('installed');
    expect(await place.run('flow', 'run', 'names')).toMatchObject({ code: 0, out: 'a b c d\n' });
    for (const file of [...Object.values(local), 'packages/linked/c.ts']) {
      const path = join(place.folder, file);
      cpSync(path, `${path}.before`);
      writeFileSync(path, `throw new Error('executed');`);
      expect(await place.run('flow', 'run', 'names'), file).toMatchObject({ code: 2, err: changed });
      cpSync(`${path}.before`, path);
    }
    expect(await place.run('flow', 'run', 'names')).toMatchObject({ code: 0, out: 'a b c d\n' });
  }, 120_000);

  it('does not execute a local file that was not found in the source', async () => {
    using place = createPlace(script);
    write(place, {
      'package.json': '{"type":"module","imports":{"#alias":"./alias.ts","#old":"./old.cjs"}}',
      'alias.ts': 'export const a = 1;',
      'old.cjs': 'module.exports = {};',
      'dynamic.ts':
        "import { defineFlow } from 'retinue/flow'; const name = '#al' + 'ias'; export default defineFlow('d', null, async () => (await import(name)).a);",
      'old.ts': "import { defineFlow } from 'retinue/flow'; import '#old'; export default defineFlow('o', null, async () => 1);",
    });
    expect(await place.run('flow', 'run', './dynamic.ts')).toMatchObject({
      code: 1,
      err: expect.stringContaining('write an existing path as a string literal'),
    });
    expect(await place.run('flow', 'run', './old.ts')).toMatchObject({
      code: 2,
      err: expect.stringContaining('a flow can import only files with one of the extensions .ts .mts .js .mjs .json'),
    });
  }, 60_000);
});
