// A run cannot escape its limits of depth and number by starting Retinue again, nor act for the user: from its shell, with or without a sandbox, or
// from an MCP server.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');
const linux = process.platform === 'linux';
const refusal = 'so Retinue may not start runs here';

/** Runs a command with the shell of a run, outside a sandbox. Returns its output. */
async function runInShell(place: Place, command: string): Promise<string> {
  const script = { runs: [{ when: { task: 'outer' }, steps: [{ calls: [{ tool: 'bash', args: { command } }] }, { text: 'done' }] }] };
  writeFileSync(join(place.folder, 'script.json'), JSON.stringify(script));
  const { code, err } = await place.run('run', '--sandbox', 'off', '--allow', 'bash', 'outer');
  expect(code, err).toBe(0);
  return readFileSync(join(place.folder, 'out'), 'utf8');
}

const inner = { runs: [{ times: 'any', steps: [{ text: 'escaped' }] }] };
const withInner = () => {
  const place = createPlace({ runs: [] });
  writeFileSync(join(place.folder, 'inner.json'), JSON.stringify(inner));
  return place;
};
const node = `${process.execPath} ${bin}`;
const clean = 'env -i PATH=/usr/bin:/bin HOME=/tmp';
const start = (command: string) => `${command} --model script/inner.json --db other.db inner`;

describe.runIf(linux)('the shell of a run', () => {
  it.each([
    ['as it is', `${start(`${node} run`)} >out 2>&1`],
    ['with a clean environment', `${start(`${clean} ${node} run`)} >out 2>&1`],
    ['in a session of its own', `setsid --wait ${start(`${clean} ${node} run`)} >out 2>&1`],
    ['instead of the shell itself', `exec ${start(`${clean} ${node} run`)} >out 2>&1`],
    ['in the background', `${start(`${clean} ${node} run`)} >out 2>&1 & wait`],
    ['detached', `${start(`${clean} ${node} run --detach`)} >out 2>&1`],
    ['as a subagent', `${clean} ${node} subagent --model script/inner.json --db other.db --task inner >out 2>&1`],
  ])('cannot start a run: %s', async (_, command) => {
    using place = withInner();
    const out = await runInShell(place, command);
    expect(out).toContain(refusal);
    expect(out).not.toContain('escaped');
  });

  it('that left the shell is recognised by its environment', async () => {
    using place = withInner();
    const command = `(setsid sh -c 'sleep 0.2; ${start(`${node} run`)} >out.part 2>&1; mv out.part out' &) ; while ! test -e out; do sleep 0.1; done`;
    expect(await runInShell(place, command)).toContain('a run started this process (its environment says so)');
  });

  it('cannot act for the user: answer its own question, give orders, change records, trust or settings', async () => {
    using place = withInner();
    const id = '01890000-0000-7000-8000-000000000000';
    const commands = [
      ...[
        'approve last',
        'approve last --always',
        'refuse last',
        'message last x',
        'pause last',
        'resume last',
        'cancel last',
        'fork last',
      ],
      ...['trust --yes', 'trust --revoke', 'models use script/inner.json', 'init --model script/inner.json', 'init --project --yes'],
      ...['memory add title text', 'memory rm title', 'import inner.json', `rm ${id}`, 'gc --older-than 1s', 'resume --adopt'],
      ...['mcp install claude-code --yes', 'mcp install vscode --project --yes', 'demo', 'notify test', 'ps --everywhere'],
    ];
    const config = JSON.stringify({ rules: ['allow write'] });
    writeFileSync(join(place.folder, 'retinue.config.json'), config);
    writeFileSync(
      join(place.folder, 'all.sh'),
      commands.map((each) => `echo "> ${each}"; env -i PATH=/usr/bin:/bin HOME=$PWD ${node} ${each} 2>&1; echo "= $?"\n`).join(''),
    );
    const out = await runInShell(place, 'sh all.sh >out');
    const answers = out.split(/^> /m).slice(1);
    expect(answers.map((each) => each.split('\n')[0])).toEqual(commands);
    for (const answer of answers)
      expect(answer).toMatch(/^.*\nretinue: a run started this process .* give orders or change settings: .*\n= 1\n$/);
    expect(readFileSync(join(place.folder, 'retinue.config.json'), 'utf8')).toBe(config);
    expect((await place.run('trust', '--list', '--json')).out.trim()).toBe('[]');
  });

  it('lists questions without counting as the user who has seen them', async () => {
    using place = withInner();
    const out = await runInShell(place, `HOME=${place.folder} ${node} approve >out 2>&1`);
    expect(out).toContain('no call waits for approval');
    expect(existsSync(join(place.folder, '.config/retinue/questions.json'))).toBe(false);
    await place.run('approve');
    expect(existsSync(join(place.folder, '.config/retinue/questions.json'))).toBe(true);
  });

  it('can still read', async () => {
    using place = withInner();
    const out = await runInShell(place, `${node} ps --json >out 2>&1; ${node} logs last >>out 2>&1; ${node} --version >>out`);
    expect(out).toContain('"status"');
    expect(out).toContain('run.created');
    expect(out).not.toContain(refusal);
  });
});

it.runIf(linux)('an MCP server of a run cannot delegate anew', async () => {
  const call = { tool: 'mcp__nested__delegate', args: { tasks: [{ task: 'inner' }] } };
  using place = createPlace({ runs: [{ when: { task: 'outer' }, steps: [{ calls: [call] }, { text: 'done' }] }] });
  writeFileSync(join(place.folder, 'inner.json'), JSON.stringify(inner));
  const own = join(place.folder, '.config', 'retinue');
  mkdirSync(own, { recursive: true });
  const args = ['-i', 'PATH=/usr/bin:/bin', 'HOME=/tmp', process.execPath, bin, 'mcp', '--model', 'script/inner.json', '--db', 'other.db'];
  writeFileSync(join(own, 'config.json'), JSON.stringify({ mcpServers: { nested: { command: '/usr/bin/env', args } } }));
  const { code, err } = await place.run('run', '--allow', 'mcp__nested__*', 'outer');
  expect(code, err).toBe(0);
  const { out } = await place.run('logs', 'last', '--json');
  expect(out).toContain(refusal);
  expect(out).not.toContain('escaped');
});

const bwrap = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true']).status === 0;

describe.runIf(linux && bwrap)('the sandbox of a run', () => {
  it('has a marker that a command can neither remove, replace nor hide', async () => {
    const command = 'rm -rf /run/retinue-run; mv /run /tmp/run; umount /run/retinue-run; test -e /run/retinue-run && echo still marked';
    const attempts = { calls: [{ tool: 'bash', args: { command } }] };
    using place = createPlace({ runs: [{ steps: [attempts, { text: 'done' }] }] });
    await place.run('run', '--sandbox', 'required', '--allow', 'bash', 'x');
    expect((await place.run('logs', 'last', '--json')).out).toContain('still marked');
  });

  it('is recognised by its marker, without any other sign', () => {
    using place = withInner();
    const view = ['--bind', '/', '/', '--tmpfs', '/run', '--ro-bind', '/dev/null', '/run/retinue-run', '--proc', '/proc', '--dev', '/dev'];
    const args = ['--unshare-pid', ...view, process.execPath, bin, 'run', '--model', 'script/inner.json', 'inner'];
    const env = { PATH: '/usr/bin:/bin', HOME: place.folder };
    const { status, stderr } = spawnSync('bwrap', args, { cwd: place.folder, env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, expect.stringContaining('a run started this process (it is in the sandbox of a run)')]);
  });
});
