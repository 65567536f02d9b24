// The program with its real sandbox: which setting does what, and who gets which rights in it.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { sandboxOwner } from '../../src/ports/sandbox.ts';
import { createPlace, type Place } from './support-process.ts';

const bash = (command: string) => ({ calls: [{ tool: 'bash', args: { command } }] });
const one = (...steps: object[]) => ({ runs: [{ steps: [...steps, { text: 'done' }] }] });

function put(place: Place, path: string, content: string | object, mode = 0o644): string {
  const file = join(place.folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(file, mode);
  return file;
}

async function facts(place: Place): Promise<Fact[]> {
  return JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as Fact[];
}

/** What the calls of the newest tree came to. */
async function calls(place: Place) {
  const all = await facts(place);
  const asked = all.flatMap((fact) => (fact.type === 'tool.asked' ? [fact.data.decision] : []));
  const results = all.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  return { asked, results };
}

const refusing = '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n';

describe.runIf(process.platform === 'linux')('auto', () => {
  it('allows a shell in the sandbox, without the network and without keys', async () => {
    using place = createPlace(one(bash('echo hello > f; env; cat /proc/*/environ | tr "\\0" "\\n"; ls -A .retinue')), {
      ANTHROPIC_API_KEY: 'canary-key-0123',
    });
    expect((await place.run('run', 'work')).code).toBe(0);
    const { asked, results } = await calls(place);
    expect(asked).toMatchObject([{ action: 'allow', owner: sandboxOwner, rule: 'allow bash' }]);
    expect(results[0]?.status).toBe('ok');
    expect(results[0]?.output).not.toMatch(/canary|API_KEY|retinue\.db/);
    expect(readFileSync(join(place.folder, 'f'), 'utf8')).toBe('hello\n');
  });

  it('opens the network with --allow network even if the agent has a tool list, and a deny of the agent closes it', async () => {
    const server = createServer((socket) => socket.end('reached\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    using place = createPlace({
      runs: [{ times: 'any', steps: [bash(`cat < /dev/tcp/127.0.0.1/${port}`), { text: 'done' }] }],
    });
    put(
      place,
      '.config/retinue/agents/closed.md',
      '---\nname: closed\ndescription: x\ntools: [bash]\nrules: ["deny network"]\n---\nYou work.\n',
    );
    const said = async (...flags: string[]) => {
      await place.run('run', ...flags, 'work');
      return (await calls(place)).results[0]?.output;
    };
    expect(await said()).toContain('Connection refused');
    expect(await said('--allow', '*')).toContain('Connection refused');
    expect(await said('--allow', 'network')).toBe('reached');
    expect(await said('--allow', 'network', '--tools', 'bash,read')).toBe('reached');
    expect(await said('--allow', 'network', '--agent', 'closed')).toContain('Connection refused');
  });

  it('gives an agent without write tools a workspace that it cannot change', async () => {
    using place = createPlace(
      one(bash(`node -e 'fs.writeFileSync("made", "x")' 2>&1 | grep -o EROFS | head -1; cat script.json | head -c 1`)),
    );
    put(place, '.config/retinue/agents/looker.md', '---\nname: looker\ndescription: x\ntools: [read, bash]\n---\nYou look.\n');
    await place.run('run', '--agent', 'looker', 'work');
    expect((await calls(place)).results[0]?.output).toBe('EROFS\n{');
    expect(existsSync(join(place.folder, 'made'))).toBe(false);
  });

  it('needs approval without a sandbox, which is a denial without a terminal', async () => {
    for (const fake of [false, true]) {
      using place = createPlace(one(bash('touch made')), { PATH: '/nowhere' });
      if (fake) put(place, 'bin/bwrap', refusing, 0o755);
      using other = createPlace(one(bash('touch made')), { PATH: fake ? join(place.folder, 'bin') : '/nowhere' });
      await other.run('run', 'work');
      const { asked, results } = await calls(other);
      expect(asked).toMatchObject([{ action: 'ask', owner: 'built-in', rule: 'ask bash' }]);
      expect([results[0]?.status, existsSync(join(other.folder, 'made'))]).toEqual(['denied', false]);
    }
  });
});

describe.runIf(process.platform === 'linux')('required', () => {
  it('denies a shell if the sandbox is missing, whatever else allows it, and says how to get one', async () => {
    using tools = createPlace({});
    put(tools, 'bin/bwrap', refusing, 0o755);
    for (const [path, advice] of [
      ['/nowhere', 'apt-get install bubblewrap'],
      [join(tools.folder, 'bin'), 'AppArmor'],
    ] as const) {
      using place = createPlace(one(bash('touch made')), { PATH: path });
      await place.run('run', '--sandbox', 'required', '--allow', 'bash', 'work');
      const { asked, results } = await calls(place);
      expect(asked[0]?.action).toBe('deny');
      expect(results[0]?.output).toContain('sandbox: required');
      expect(results[0]?.output).toContain(advice);
      expect(existsSync(join(place.folder, 'made'))).toBe(false);
    }
  });

  it('runs it in the sandbox', async () => {
    using place = createPlace(one(bash('echo x > made')), { RETINUE_SANDBOX: 'required' });
    await place.run('run', 'work');
    expect(existsSync(join(place.folder, 'made'))).toBe(true);
  });
});

describe.runIf(process.platform === 'linux')('a run that was allowed a shell because of the sandbox', () => {
  it('gets none if it is resumed without one', async () => {
    const steps = [bash('touch begun; sleep 60'), bash('touch made'), { text: 'done' }];
    using place = createPlace({ runs: [{ steps }] });
    const running = place.start('run', 'work');
    await expect.poll(() => existsSync(join(place.folder, 'begun')), { timeout: 15_000 }).toBe(true);
    running.process.kill('SIGKILL');
    await running.finished;
    expect((await place.run('resume', '--sandbox', 'off')).code).toBe(0);
    const { results } = await calls(place);
    expect(results.map(({ status }) => status)).toEqual(['unknown', 'error']);
    expect(results[1]?.output).toContain('only in a sandbox');
    expect(existsSync(join(place.folder, 'made'))).toBe(false);
  });
});

describe.runIf(process.platform === 'linux')('a run whose workspace allows a shell too', () => {
  it('gets none if it is resumed without a sandbox, unless the owner allows it', async () => {
    for (const allowed of [false, true]) {
      using place = createPlace({ runs: [{ steps: [bash('touch begun; sleep 60'), bash('touch made'), { text: 'done' }] }] });
      put(place, 'retinue.config.json', { rules: ['ask bash', 'allow bash:*'] });
      const running = place.start('run', ...(allowed ? ['--allow', 'bash:touch made'] : []), 'work');
      await expect.poll(() => existsSync(join(place.folder, 'begun')), { timeout: 15_000 }).toBe(true);
      running.process.kill('SIGKILL');
      await running.finished;
      expect((await place.run('resume', '--sandbox', 'off')).code).toBe(0);
      const { results } = await calls(place);
      expect(results.map(({ status }) => status)).toEqual(['unknown', allowed ? 'ok' : 'error']);
      expect(existsSync(join(place.folder, 'made'))).toBe(allowed);
    }
  });
});

describe('off', () => {
  it('is reported each time, and the rules decide about the shell', async () => {
    using place = createPlace({ runs: [{ times: 'any', steps: [bash('touch made'), { text: 'done' }] }] }, { RETINUE_SANDBOX: 'off' });
    const first = await place.run('run', 'work');
    expect(first.err).toContain('the sandbox is off (RETINUE_SANDBOX)');
    expect((await calls(place)).asked).toMatchObject([{ action: 'ask', rule: 'ask bash' }]);
    expect((await place.run('run', '--sandbox', 'off', '--allow', 'bash', 'work')).err).toContain('the sandbox is off (--sandbox)');
    expect(existsSync(join(place.folder, 'made'))).toBe(true);
    expect((await place.run('resume', '--sandbox', 'off')).err).toContain('the sandbox is off');
  });

  it('has no effect in a workspace that is not trusted', async () => {
    using place = createPlace(one({ text: 'x' }));
    put(place, 'retinue.config.json', { sandbox: 'off' });
    const { err } = await place.run('run', 'work');
    expect(err).toContain('`sandbox` in');
    expect(err).not.toContain('the sandbox is off');
  });

  it('an unknown mode', async () => {
    using place = createPlace(one({ text: 'x' }), { RETINUE_SANDBOX: 'none' });
    expect(await place.run('run', 'work')).toMatchObject({ code: 2, err: expect.stringContaining('RETINUE_SANDBOX') });
    expect(await place.run('run', '--sandbox', 'of', 'work')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean `off`'),
    });
  });
});

describe('a variable that is granted to one agent', () => {
  const secret = 'canary-token-0123456789';
  const show = bash('echo "[$MY_GRANT]" | tee -a seen; printf %s "$MY_GRANT" | wc -c');
  const agent = (name: string) => `---\nname: ${name}\ndescription: x\n---\nYou work.\n`;

  it('reaches its shell, no other agent and no child, and no fact', async () => {
    const delegate = { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'child', agent: 'other' }] } }] };
    const script = {
      runs: [
        { when: { agent: 'holder' }, steps: [show, delegate, { text: 'done' }] },
        { when: { agent: 'other' }, times: 'any', steps: [show, { text: 'done' }] },
      ],
    };
    using place = createPlace(script, { MY_GRANT: secret });
    put(place, '.config/retinue/config.json', { env: { holder: ['MY_GRANT'] }, rules: ['allow bash'] });
    for (const name of ['holder', 'other']) put(place, `.config/retinue/agents/${name}.md`, agent(name));
    await place.run('run', '--agent', 'holder', 'work');
    expect(readFileSync(join(place.folder, 'seen'), 'utf8')).toBe(`[${secret}]\n[]\n`);
    const outputs = (await calls(place)).results.map(({ output }) => output);
    expect(outputs).toContain(`[[secret MY_GRANT]]\n${secret.length}`);
    expect(outputs).toContain('[]\n0');
    expect(JSON.stringify(await facts(place))).not.toContain(secret);
    for (const file of ['retinue.db', 'retinue.db-wal'])
      if (existsSync(join(place.folder, '.retinue', file)))
        expect(readFileSync(join(place.folder, '.retinue', file), 'latin1')).not.toContain(secret);
  });

  it('is not granted if an untrusted workspace names it or defines the agent', async () => {
    using place = createPlace({ runs: [{ times: 'any', steps: [show, { text: 'done' }] }] }, { MY_GRANT: secret });
    put(place, 'retinue.config.json', { env: { general: ['MY_GRANT'] } });
    put(place, '.config/retinue/config.json', { env: { planted: ['MY_GRANT'] }, rules: ['allow bash'] });
    put(place, '.retinue/agents/planted.md', agent('planted'));
    const first = await place.run('run', 'work');
    expect(first.err).toContain('`env` in');
    await place.run('run', '--agent', 'planted', 'work');
    expect(readFileSync(join(place.folder, 'seen'), 'utf8')).toBe('[]\n[]\n');
  });

  it('does not reach another agent of the same name', async () => {
    const steps = [bash('touch begun; sleep 60'), show, { text: 'done' }];
    const gone = async (place: Place, path: string, change: () => void) => {
      put(place, '.config/retinue/config.json', { env: { holder: ['MY_GRANT'] }, rules: ['allow bash'] });
      put(place, path, agent('holder'));
      const running = place.start('run', '--agent', 'holder', 'work');
      await expect.poll(() => existsSync(join(place.folder, 'begun')), { timeout: 15_000 }).toBe(true);
      running.process.kill('SIGKILL');
      await running.finished;
      change();
      await place.run('resume');
      return readFileSync(join(place.folder, 'seen'), 'utf8');
    };
    using planted = createPlace({ runs: [{ steps }] }, { MY_GRANT: secret });
    const file = '.retinue/agents/holder.md';
    expect(await gone(planted, file, () => rmSync(join(planted.folder, file)))).toBe('[]\n');
    const own = '.config/retinue/agents/holder.md';
    using changed = createPlace({ runs: [{ steps }] }, { MY_GRANT: secret });
    expect(await gone(changed, own, () => put(changed, own, agent('holder').replace('work', 'rest')))).toBe('[]\n');
    using same = createPlace({ runs: [{ steps }] }, { MY_GRANT: secret });
    expect(await gone(same, own, () => {})).toBe(`[${secret}]\n`);
  });

  it('is reported if it is not set, and a value instead of a name is refused without repeating it', async () => {
    using place = createPlace(one({ text: 'x' }));
    put(place, '.config/retinue/config.json', { env: { general: ['NOT_THERE'] } });
    expect((await place.run('run', 'work')).err).toContain('env.general: the variable NOT_THERE is not set');
    put(place, '.config/retinue/config.json', { env: { general: ['ghp_canary'] } });
    const refused = await place.run('run', 'work');
    expect([refused.code, refused.err.includes('ghp_canary')]).toEqual([2, false]);
    expect(refused.err).toContain('must be the name of a variable');
  });
});
