// What external agents leave on this machine: nothing once their run has ended, whatever they put into their home.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createExternalHomes } from '../../src/externals/homes.ts';
import { probeGate } from '../../src/externals/probe.ts';
import { openSocketFolder, type SocketFolder } from '../../src/externals/socket-folder.ts';
import { parseRule } from '../../src/rules/policy.ts';
import { findSandbox } from '../../src/sandboxes/find-sandbox.ts';
import { createExternalWorld, type ExternalWorld, processesWith } from './support.ts';

const allowAll = [{ kind: 'owner' as const, owner: 'test', rules: ['allow *'].map(parseRule) }];
const usage = { input: 100, output: 10 };
const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
const leftOf = (world: ExternalWorld) => [...list(join(world.state, 'externals')), ...list(world.temporary)];

describe('the home of an external agent', () => {
  it.each([
    ['completes', [{ model: {} }], null],
    ['fails', [{ exit: 3 }], null],
    ['is cancelled', [{ model: {} }, { hang: true }], 'enough'],
  ])('is deleted when its run %s', async (_, steps, cancel) => {
    await using world = await createExternalWorld({ script: { turns: [steps] }, answer: [{ text: 'Done.', usage }], rulesets: allowAll });
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    await expect.poll(() => leftOf(world).length).toBe(2);
    if (cancel) await run.cancel(cancel);
    await run.outcome;
    expect(leftOf(world)).toEqual([]);
  });

  it('is deleted although the agent fills it with links, closed folders and deep ones, and what links point to stays', async () => {
    const precious = mkdtempSync(join(tmpdir(), 'retinue-precious-'));
    writeFileSync(join(precious, 'file'), 'x');
    const nest = 'for (let n = 0; n < 60; n++) { fs.mkdirSync("d".repeat(200)); process.chdir("d".repeat(200)); }';
    const report = [
      `cd "$HOME" && ln -s ${precious} link && ln -s ${precious}/file file && mkdir -p closed/inner && touch closed/inner/x`,
      `${process.execPath} -e '${nest}' && chmod 0 closed/inner closed && echo filled`,
    ].join(' && ');
    await using world = await createExternalWorld({
      script: { turns: [[{ report }, { model: {} }]] },
      answer: [{ text: 'Done.', usage }],
      rulesets: allowAll,
    });
    const texts: string[] = [];
    world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    expect(texts.join('')).toContain('filled');
    expect(leftOf(world)).toEqual([]);
    expect(readdirSync(precious)).toEqual(['file']);
    rmSync(precious, { recursive: true });
  });

  it('cannot be left in the folder of the sockets, which a confined agent cannot change', async () => {
    const report = 'cd "$(dirname "$SOCKET")" && touch x 2>&1; rm -f model 2>&1; ls';
    const script = { turns: [[{ report: `SOCKET=$(tr '\\0' '\\n' </proc/1/cmdline | grep -m1 /model) ; ${report}` }, { model: {} }]] };
    await using world = await createExternalWorld({ script, answer: [{ text: 'Done.', usage }], rulesets: allowAll, isConfined: true });
    const texts: string[] = [];
    world.runtime.listen((event) => event.type === 'delta' && texts.push(event.text));
    const run = await world.runtime.start({ task: 'go', agent: 'fake' });
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'Done.' });
    expect(texts.join('')).toMatch(/Read-only file system/);
    expect(leftOf(world)).toEqual([]);
  });

  it('of another run that has ended is deleted when the next agent starts, and one that is not known stays', async () => {
    await using world = await createExternalWorld({
      script: { turns: [[{ model: {} }]] },
      answer: ({ n }) => ({ text: `Done ${n}.`, usage }),
      rulesets: allowAll,
    });
    const first = await world.runtime.start({ task: 'go', agent: 'fake' });
    await first.outcome;
    const homes = join(world.state, 'externals');
    for (const name of [first.id, 'f'.repeat(16), 'other']) mkdirSync(join(homes, name, 'inside'), { recursive: true });
    const second = await world.runtime.start({ task: 'go', agent: 'fake' });
    await second.outcome;
    expect(list(homes).toSorted()).toEqual(['f'.repeat(16), 'other']);
  });
});

describe('a try of the model gate', () => {
  it.each([true, false])('leaves nothing behind (in a sandbox: %s)', async (isConfined) => {
    const temporary = mkdtempSync(join(tmpdir(), 'retinue-sockets-'));
    const found = await findSandbox({ env: process.env, workspace: '/nonexistent', secret: [] });
    const sandbox = isConfined && found.ok ? found.sandbox : null;
    expect(
      await probeGate(null, { env: process.env, sandbox, marks: () => ({ PROBE: temporary }), folder: '/nonexistent', temporary }),
    ).toEqual({
      ok: true,
      call: null,
    });
    expect(list(temporary)).toEqual([]);
    expect(processesWith(temporary)).toEqual([]);
    rmSync(temporary, { recursive: true });
  });
});

describe('folders for sockets', () => {
  const withFolders = async (use: (open: SocketFolder, homes: ReturnType<typeof createExternalHomes>) => Promise<void>) => {
    const temporary = mkdtempSync(join(tmpdir(), 'retinue-sockets-'));
    const where = { folder: join(temporary, 'externals'), temporary };
    const created = await openSocketFolder(where);
    await use(created, createExternalHomes(where));
    await created.close();
    rmSync(temporary, { recursive: true });
  };

  it('are found when nobody listens on their socket any more', () =>
    withFolders(async ({ path }, homes) => {
      // A socket whose process was killed: the file is there, and a connection is refused.
      const dead = `${path.slice(0, -6)}dead01`;
      mkdirSync(dead);
      writeFileSync(join(dead, 'alive'), '');
      expect(await homes.leftovers()).toEqual([{ path: dead, runId: null }]);
      for (const each of [path, dead]) await homes.discardFolder(each);
      expect(list(dirname(path))).toEqual([basename(path)]);
    }));

  it('are left alone if they are new, of another configuration, a link, or something else', () =>
    withFolders(async ({ path }, homes) => {
      const [temporary, prefix] = [dirname(path), path.slice(0, -6)];
      mkdirSync(`${prefix}new001`);
      const foreign = join(temporary, 'retinue-gate-00000000-dead01');
      mkdirSync(foreign);
      writeFileSync(join(foreign, 'alive'), '');
      mkdirSync(join(temporary, 'precious'));
      writeFileSync(join(temporary, 'precious', 'alive'), '');
      symlinkSync('precious', `${prefix}link01`);
      writeFileSync(`${prefix}file01`, '');
      expect(await homes.leftovers()).toEqual([]);
      for (const name of readdirSync(temporary)) await homes.discardFolder(join(temporary, name));
      await homes.discardFolder(join(temporary, 'externals', '..', 'precious'));
      await homes.forget(['..', '../precious', 'precious']);
      expect(list(temporary)).toHaveLength(6);
      expect(list(join(temporary, 'precious'))).toEqual(['alive']);
    }));
});
