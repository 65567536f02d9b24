// `top`, `attach` and `resume`: when they show a screen and when text, and what they say afterwards.
import { describe, expect, it } from 'vitest';
import type { Io, ScreenRequest, ScreenResult } from '../../src/cli/io.ts';
import type { RunView } from '../../src/contract/view.ts';
import { createCli } from './support.ts';

const terminal: Partial<Io> = { interactive: true, outTTY: true, errTTY: true };

/** A terminal whose user leaves the screen at once, and what was asked of it. */
function leaving(result: Partial<ScreenResult> = {}) {
  const requests: ScreenRequest[] = [];
  const io: Partial<Io> = {
    ...terminal,
    async screen(_, request) {
      requests.push(request);
      return { live: 0, driven: [], isInterrupted: false, ...result };
    },
  };
  return { io, requests };
}

describe('top', () => {
  it('shows all trees on a terminal, and says that what is live continues', async () => {
    using cli = createCli();
    const { io, requests } = leaving({ live: 2 });
    const { code, stdout, stderr } = await cli.run(['top'], io);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toBe('retinue: 2 runs continue; `retinue top` shows them again\n');
    expect(requests).toMatchObject([{ attach: null }]);
  });

  it('exits with 130 after Ctrl-C, and says how to continue what it paused', async () => {
    using cli = createCli();
    const { io } = leaving({ live: 1, driven: ['0123456789abcdef'], isInterrupted: true });
    const { code, stderr } = await cli.run(['top'], io);
    expect(code).toBe(130);
    expect(stderr).toBe('retinue: paused: continue with `retinue resume 01234567`\n');
  });

  it('closes the screen at a signal', async () => {
    using cli = createCli();
    const opened = Promise.withResolvers<void>();
    const { io, code } = cli.start(['top'], {
      ...terminal,
      screen: (_, { signal }) => {
        opened.resolve();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ live: 0, driven: [], isInterrupted: false })));
      },
    });
    await opened.promise;
    io.stop('terminate');
    expect(await code).toBe(143);
  });

  it.each([
    ['without a terminal', ['top', '--all'], {}],
    ['with --plain', ['top', '--all', '--plain'], terminal],
    ['with --json', ['top', '--all', '--json'], terminal],
    ['if standard output is a file', ['top', '--all'], { ...terminal, outTTY: false }],
    ['on a terminal that can do nothing', ['top', '--all'], { ...terminal, errTTY: false }],
  ])('prints text %s', async (_, argv, io) => {
    using cli = createCli();
    await cli.run(['run', '--label', 'a label', 'go']);
    const { code, stdout } = await cli.run(argv, io);
    expect(code).toBe(0);
    expect(stdout).toContain('a label');
    if (argv.includes('--json')) expect(JSON.parse(stdout)).toMatchObject([{ label: 'a label', status: 'completed' }]);
  });

  it('says so if nothing is live', async () => {
    using cli = createCli();
    expect(await cli.run(['top', '--plain'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'no live runs; `retinue top --plain --all` includes ended ones\n',
    });
  });
});

describe('attach', () => {
  const runs = [
    { when: { agent: 'explore' }, steps: [{ text: 'looked' }] },
    { steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'look', agent: 'explore', label: 'child' }] } }] }, { text: 'done' }] },
  ];

  it('selects the run in its tree', async () => {
    using cli = createCli({ runs });
    await cli.run(['run', 'go']);
    const [child, root] = (await cli.json('ps', '--all')) as RunView[];
    const { io, requests } = leaving();
    expect(await cli.run(['attach', child?.runId ?? ''], io)).toMatchObject({ code: 0, stderr: '' });
    expect(requests).toMatchObject([{ attach: { rootId: root?.runId, runId: child?.runId } }]);
  });

  it('prints the tree of a run that has ended', async () => {
    using cli = createCli({ runs });
    await cli.run(['run', 'go']);
    const { code, stdout } = await cli.run(['attach', 'last', '--plain'], terminal);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✓ general +completed.*\n {2}✓ child +completed.*\n$/);
  });

  it('needs a run that exists', async () => {
    using cli = createCli();
    await cli.run(['run', 'go']);
    const { io, requests } = leaving();
    expect((await cli.run(['attach', 'ffffffff'], io)).code).toBe(1);
    expect(requests).toEqual([]);
  });
});

describe('resume', () => {
  it('shows no screen if there is nothing to continue', async () => {
    using cli = createCli();
    await cli.run(['run', 'go']);
    const { io, requests } = leaving();
    expect(await cli.run(['resume'], io)).toMatchObject({ code: 0, stderr: 'retinue: there is nothing to resume\n' });
    expect(requests).toEqual([]);
  });
});
