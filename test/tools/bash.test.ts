import { readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import type { Sandbox } from '../../src/ports/sandbox.ts';
import type { Rights } from '../../src/ports/tool.ts';
import { collectClosedPaths } from '../../src/rules/path-rules.ts';
import { builtInRuleset, decideCall, parseRule } from '../../src/rules/policy.ts';
import { createBash } from '../../src/tools/bash.ts';
import { commandTable } from './command-table.ts';
import { call, makeWorkspace } from './support.ts';

const bash = createBash({ sandbox: null });

const ruledBy = (...rulesets: Ruleset[]): Rights => ({
  agent: 'a',
  definition: null,
  tools: ['bash'],
  decide: (tool, subjects, options) => decideCall(rulesets, { tool, subjects }, options),
  closedPaths: collectClosedPaths(rulesets),
});

const run = (command: string, input: object = {}) => call(bash, makeWorkspace().workspace, { command, ...input });

test.each([...commandTable, { command: 'kill -KILL $$', output: '[ended by SIGKILL]', isError: true }])(
  '$command',
  async ({ command, output, isError }) => {
    expect(await run(command)).toEqual({ output, ...(isError && { isError }) });
  },
);

test('standard output and error keep their order', async () => {
  const { output } = await run('for i in $(seq 200); do echo out $i; echo err $i >&2; done');
  expect(output.split('\n')).toEqual(Array.from({ length: 400 }, (_, n) => `${n % 2 ? 'err' : 'out'} ${Math.floor(n / 2) + 1}`));
});

test('works in the workspace and changes its files', async () => {
  const { workspace, outside } = makeWorkspace();
  expect((await call(bash, workspace, { command: 'pwd; echo new > f' })).output).toBe(realpathSync(workspace));
  expect(readFileSync(join(workspace, 'f'), 'utf8')).toBe('new\n');
  symlinkSync(workspace, join(outside, 'door'));
  expect((await call(bash, join(outside, 'door'), { command: 'pwd' })).output).toBe(realpathSync(workspace));
});

test('a missing workspace is a clear failure', async () => {
  const { workspace } = makeWorkspace();
  expect(await call(bash, join(workspace, 'gone'), { command: 'true' })).toMatchObject({
    isError: true,
    output: expect.stringContaining('does not exist'),
  });
});

describe('environment', () => {
  test('commands see only listed variables and no keys', async () => {
    const own = {
      PATH: process.env.PATH,
      HOME: '/home/x',
      LANG: 'C',
      TERM: 'xterm',
      TMPDIR: '/tmp',
      ANTHROPIC_API_KEY: 'canary',
      BASH_ENV: '/x',
      LD_PRELOAD: '/x',
    };
    const { output } = await call(createBash({ sandbox: null, env: own }), makeWorkspace().workspace, {
      command: 'env; cat /proc/$$/environ | tr "\\0" "\\n"',
    });
    expect(output).not.toMatch(/canary|API_KEY|BASH_ENV|LD_PRELOAD/);
    const names = output.split('\n').map((line) => line.split('=')[0]);
    expect([...new Set(names)].sort()).toEqual(
      ['HOME', 'LANG', 'PATH', 'PWD', 'RETINUE_CALL', 'SHLVL', 'TERM', 'TMPDIR', '_'].filter((name) => names.includes(name)).sort(),
    );
    expect(names).toEqual(expect.arrayContaining(['HOME', 'LANG', 'PATH', 'TERM', 'TMPDIR']));
  });

  test('programs of the workspace are not found through PATH', async () => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'ls'), '#!/bin/sh\necho fake', { mode: 0o755 });
    writeFileSync(join(workspace, 'bash'), '#!/bin/sh\necho fake', { mode: 0o755 });
    const env = { PATH: `.::relative:${process.env.PATH}` };
    expect((await call(createBash({ sandbox: null, env }), workspace, { command: 'ls; echo $PATH' })).output).not.toMatch(
      /fake|relative|(^|:)\.?(:|$)/m,
    );
    expect((await call(createBash({ sandbox: null, env: { PATH: '' } }), workspace, { command: 'ls' })).output).toBe('bash\nls');
  });

  test('nothing carries over from call to call', async () => {
    const { workspace } = makeWorkspace();
    await call(bash, workspace, { command: 'export X=1; cd /; alias a=b; f() { :; }' });
    expect((await call(bash, workspace, { command: 'echo "[$X]"; pwd; type f 2>&1 | tail -c 10' })).output).toContain('[]');
  });
});

/** A sandbox that starts the result of `wrap` instead. */
function boxOf(wrap: (argv: string[], workspace: string) => string[]): Sandbox {
  return {
    ...{ name: 'test', version: async () => '1', limits: 'none' },
    async confine({ argv, workspace, env }) {
      return { ok: true, confined: { argv: wrap(argv, workspace), env, join: [], namespace: false, release: async () => [] } };
    },
  };
}

test('a sandbox gets the command and its arguments', async () => {
  const wrap = (argv: string[], workspace: string) => [
    ...['/usr/bin/env', 'BOX=1', 'sh', '-c', 'echo "$BOX" "$1"; shift; exec "$@"', 'sh', workspace],
    ...argv,
  ];
  const boxed = createBash({ sandbox: boxOf(wrap) });
  const { workspace } = makeWorkspace();
  expect((await call(boxed, workspace, { command: 'echo inner $BOX' })).output).toBe(`1 ${realpathSync(workspace)}\ninner 1`);
  expect(boxed.description).toContain('sandbox');
});

test('commands allowed only in a sandbox do not run without one, and none run when commands are closed', async () => {
  const { workspace } = makeWorkspace();
  const boxed = builtInRuleset([], [], { sandboxed: true });
  // A ruleset that is stricter without subjects than with them must not hide which rule decided.
  const hiding: Ruleset = { kind: 'narrowing', owner: 'workspace', rules: ['ask bash', 'allow bash:*'].map(parseRule) };
  for (const rulesets of [[boxed], [boxed, hiding], [hiding, boxed]]) {
    const refused = await call(bash, workspace, { command: 'echo x > f' }, { rights: ruledBy(...rulesets) });
    expect(refused).toMatchObject({ isError: true, output: expect.stringContaining('only in a sandbox') });
  }
  const closed = createBash({ sandbox: null, closed: 'there is no sandbox' });
  expect(await call(closed, workspace, { command: 'echo x > f' })).toEqual({ isError: true, output: 'there is no sandbox' });
  expect(readdirSync(workspace)).toEqual([]);
});

test('commands that the owner or a person allows run without a sandbox too', async () => {
  const { workspace } = makeWorkspace();
  const boxed = builtInRuleset([], [], { sandboxed: true });
  for (const rule of ['allow bash:echo *', 'ask bash']) {
    const given: Ruleset = { ...boxed, rules: [...boxed.rules, { ...parseRule(rule), from: 'the user' }] };
    expect(await call(bash, workspace, { command: 'echo x' }, { rights: ruledBy(given) })).toEqual({ output: 'x' });
    const other = await call(bash, workspace, { command: 'echo x; touch f' }, { rights: ruledBy(given) });
    expect(other.isError ?? false).toBe(rule !== 'ask bash');
  }
});

test('the workspace is writable if a writing tool is offered and not denied', async () => {
  const { workspace } = makeWorkspace();
  const seen: boolean[] = [];
  const box = boxOf((argv) => argv);
  const confine: Sandbox['confine'] = (wanted) => {
    seen.push(wanted.writable);
    return box.confine(wanted);
  };
  const boxed = createBash({ sandbox: { ...box, confine } });
  const later = (...rules: string[]): Ruleset => ({ kind: 'narrowing', owner: 'a message', rules: rules.map(parseRule) });
  for (const rules of [[], ['deny write'], ['deny write', 'deny edit'], ['deny *'], ['deny write:x', 'deny edit:x']]) {
    const rights = ruledBy(builtInRuleset([], [], { sandboxed: true }), later(...rules));
    await call(boxed, workspace, { command: 'true' }, { rights: { ...rights, tools: ['bash', 'write', 'edit'] } });
  }
  expect(seen).toEqual([true, false, false, false, true]);
});

test('variables granted to one agent reach only that agent', async () => {
  const granted = createBash({ sandbox: null, secrets: ({ agent }) => (agent === 'one' ? { TOKEN: 'abc' } : {}) });
  const { workspace } = makeWorkspace();
  const as = (agent: string): Rights => ({
    agent,
    definition: null,
    tools: ['bash'],
    decide: () => ({ action: 'allow', owner: 'test', rule: null }),
    closedPaths: { read: [], write: [] },
  });
  const said = async (agent: string) => (await call(granted, workspace, { command: 'echo "[$TOKEN]"' }, { rights: as(agent) })).output;
  expect([await said('one'), await said('other')]).toEqual(['[abc]', '[]']);
});

describe('commands that cannot be started', () => {
  test.each([
    { wrap: () => ['/nowhere/program'], output: /nowhere.*not found[\s\S]*\[exit code 127\]/ },
    { wrap: () => ['/etc/passwd'], output: /ermission denied[\s\S]*\[exit code 126\]/ },
    { wrap: (argv: string[]) => [...argv, 'x'.repeat(200_000)], output: /^the command was not started: it is too long/ },
    { wrap: () => ['a\0b'], output: /^the command was not started/ },
  ])('$output', async ({ wrap, output }) => {
    const result = await call(createBash({ sandbox: boxOf(wrap) }), makeWorkspace().workspace, { command: 'true' });
    expect(result.isError).toBe(true);
    expect(result.output).toMatch(output);
  });

  test.each([
    { command: '' },
    { command: 'a\0b' },
    { command: 'x'.repeat(100_001) },
    { command: 'a', timeout: 0 },
    { command: 'a', timeout: '5' },
    { command: 'a', cwd: '/' },
  ])('input %#', (input) => expect(bash.input.safeParse(input).success).toBe(false));
});

test('the command is what rules match against', async () => {
  await bash.prepare?.();
  expect(bash.subjects({ command: 'git log' }, { workspace: '/' })).toEqual(['git log', { text: 'log', alias: true, tool: 'read' }]);
});

test.runIf(process.platform === 'linux')('no descriptor is left open', async () => {
  const { workspace } = makeWorkspace();
  await call(bash, workspace, { command: 'true' });
  const before = readdirSync('/proc/self/fd').length;
  for (let n = 0; n < 10; n++) await call(bash, workspace, { command: n % 2 ? 'sleep 60 &' : 'echo x' });
  expect(readdirSync('/proc/self/fd').length).toBe(before);
});
