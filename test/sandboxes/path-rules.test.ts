// Rules about paths: what they close is closed to every tool, commands in a sandbox included.
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Ruleset } from '../../src/contract/grant.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createBash } from '../../src/tools/bash.ts';
import { createWorld } from '../support/world.ts';
import { onLinux, realSandbox } from './support.ts';

interface Played {
  results: { status: string; output: string }[];
  artifacts: string;
  files(): Record<string, string>;
  links: Record<string, string>;
}

/** Plays calls in a run whose owner has these rules; `others`: one narrowing ruleset each. */
async function play(
  calls: { tool: string; args: object }[],
  {
    rules,
    others = [],
    files = {},
    links = {},
  }: { rules: string[]; others?: string[][]; files?: Record<string, string>; links?: Record<string, string> },
): Promise<Played> {
  const sandbox = await realSandbox();
  const builtIn = builtInRuleset([], ['bash'], { sandboxed: true });
  const rulesets: Ruleset[] = [
    { ...builtIn, rules: [...builtIn.rules, ...rules.map((rule) => ({ ...parseRule(rule), from: 'the user' }))] },
    ...others.map((list, n): Ruleset => ({ kind: 'narrowing', owner: `ruleset ${n}`, rules: list.map(parseRule) })),
  ];
  await using world = await createWorld({
    script: { runs: [{ steps: [...calls.map((each) => ({ calls: [each] })), { text: 'done' }] }] },
    tools: [createBash({ sandbox })],
    rulesets,
  });
  const place = (name: string) => {
    mkdirSync(dirname(join(world.workspace, name)), { recursive: true });
    return join(world.workspace, name);
  };
  writeFileSync(place('try.py'), tryAll);
  for (const [name, text] of Object.entries(files)) writeFileSync(place(name), text);
  for (const [name, target] of Object.entries(links)) symlinkSync(target, place(name));
  const outcome = await (await world.runtime.start({ task: 'go' })).outcome;
  const results = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  const left = Object.fromEntries(
    readdirSync(world.workspace, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'try.py')
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [file.slice(world.workspace.length + 1), readFileSync(file, 'utf8')]),
  );
  const linksLeft = Object.fromEntries(
    readdirSync(world.workspace, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((link) => [link.slice(world.workspace.length + 1), readlinkSync(link)]),
  );
  return { results, artifacts: JSON.stringify(outcome.artifacts), files: () => left, links: linksLeft };
}

const bash = (command: string) => ({ tool: 'bash', args: { command } });
/** A command that tries each expression of Python and prints `done` or `refused` for it. */
const attempt = (...expressions: string[]) => `python3 try.py ${expressions.map((each) => `"${each}"`).join(' ')}`;
const tryAll = `import os, sys
for each in sys.argv[1:]:
    try:
        eval(each)
        print('done')
    except OSError:
        print('refused')
`;
const secret = 'PASSWORD=hunter2-hunter2';

/** Ways of getting at `.env` in a shell. None of them names it in the same way. */
const spellings = [
  'cat .env',
  'cat ./.env',
  'cat .e*',
  'cat .en[v]',
  'cat "$PWD/.env"',
  'f=.env; cat $f',
  'cat $(echo .env)',
  "cat .e'n'v",
  'cat < .env',
  'grep . .env',
  'grep -r PASS .',
  'cp .env copy; cat copy',
  'mv .env moved; cat moved',
  'ln .env hard; cat hard',
  'ln -s .env soft; cat soft',
  'cat link',
  'cat sub/../.env',
  'tar c . | tar xO',
  'find . -name ".e*" -exec cat {} +',
  'dd if=.env',
  'head -c 99 .env; base64 .env; xxd .env; od -c .env',
  "awk '{print}' .env; sed -n p .env; python3 -c \"print(open('.env').read())\"",
  '. ./.env; echo $PASSWORD; set -a; source .env; env',
  'bash -c "cat .env"; sh -c "cat .env"; xargs cat <<< .env; eval "cat .env"',
  'exec 9< .env; cat <&9',
  'mkdir up; mv sub up; cat .env up/sub/.env; chmod 777 .env; cat .env',
  'unshare -rm cat .env; umount .env; cat .env; cat /proc/1/root$PWD/.env',
];

describe.runIf(onLinux)('a path that may not be read', () => {
  const files = { '.env': secret, 'sub/.env': secret, 'sub/plain': 'plain text' };
  const links = { link: '.env' };

  test.each(['deny', 'ask'])('%s: is hidden from commands in every spelling', { timeout: 120_000 }, async (action) => {
    const given = { rules: [`${action} read:**/.env`], files, links };
    for (const command of spellings) {
      const { results, files: left } = await play([bash(command)], given);
      expect(results[0]?.output, command).not.toContain('hunter2');
      expect({ ...left(), '.env': left()['.env'] }, command).toMatchObject({ '.env': secret });
    }
  });

  test('is left out of searches and lists, and closed to every file tool', async () => {
    const { results, artifacts } = await play(
      [
        { tool: 'read', args: { path: '.env' } },
        { tool: 'read', args: { path: 'link' } },
        { tool: 'grep', args: { pattern: 'PASS' } },
        { tool: 'grep', args: { pattern: 'absent' } },
        { tool: 'grep', args: { pattern: 'PASS', path: '.env' } },
        { tool: 'glob', args: { pattern: '**/*' } },
        { tool: 'list', args: { path: '.' } },
        { tool: 'write', args: { path: '.env', content: 'x' } },
        { tool: 'edit', args: { path: '.env', old: 'PASSWORD', new: 'x' } },
        { tool: 'grep', args: { pattern: 'plain' } },
      ],
      { rules: ['deny read:.env', 'deny read:sub/.env'], files, links },
    );
    expect(JSON.stringify(results) + artifacts).not.toContain('hunter2');
    expect(results.map(({ status }) => status)).toEqual(['denied', 'denied', 'ok', 'ok', 'denied', 'ok', 'ok', 'denied', 'denied', 'ok']);
    // The same answer whether or not the closed file matches.
    expect(results[2]?.output).toBe('[no line matches]\n[files that rules close are left out]');
    expect(results[3]?.output).toBe(results[2]?.output);
    expect(results[5]?.output).toBe('sub/plain\ntry.py\n[2 files left out: closed by a rule]');
    expect(results[6]?.output).toContain('[1 entry left out: closed by a rule]');
    expect(results[9]?.output).toContain('sub/plain:1:plain text');
  });

  test('a folder: everything in it is hidden, also what appears later, and it cannot be moved', async () => {
    const inside = { 'a/secrets/key': secret, 'a/b': 'x' };
    const commands = [
      'cat a/secrets/key; ls -A a/secrets',
      'mv a z; cat z/secrets/key; ls',
      'mv a/secrets a/z; rm -rf a/secrets; cat a/*/key',
    ];
    for (const rule of ['deny read:a/secrets/*', 'deny read:a/secrets/**', 'deny read:a/secrets', 'deny read:**/secrets/**']) {
      const { results, files: left } = await play(commands.map(bash), { rules: [rule], files: inside });
      expect(JSON.stringify(results), rule).not.toContain('hunter2');
      expect(left(), rule).toMatchObject(inside);
    }
  });

  test('any ruleset may close it: the strictest answer counts, and later allow rules of the same ruleset reopen it', async () => {
    const { results } = await play([bash('cat .env')], { rules: [], others: [['allow read:.env'], ['deny read:.env']], files });
    expect(results[0]?.output).not.toContain('hunter2');
    const reopened = await play([bash('cat .env'), { tool: 'read', args: { path: '.env' } }], {
      rules: ['deny read:.env*', 'allow read:.env'],
      files,
    });
    expect(reopened.results[0]?.output).toContain('hunter2');
    expect(reopened.results[1]?.output).toContain('hunter2');
  });

  test('without a pattern: commands see an empty workspace', async () => {
    const { results } = await play(
      [bash('ls -A; cat .env'), { tool: 'grep', args: { pattern: 'PASS' } }, { tool: 'glob', args: { pattern: '**/plain' } }],
      { rules: ['deny read'], files },
    );
    // Names are no contents.
    expect(results[2]?.output).toBe('sub/plain');
    expect(JSON.stringify(results)).not.toContain('hunter2');
    expect(results[1]?.status).not.toBe('ok');
  });

  test('a list of tools is not a rule about paths', async () => {
    const { results } = await play([bash('cat .env')], { rules: [], others: [['deny *', 'allow bash']], files });
    expect(results[0]?.output).toContain('hunter2');
  });
});

describe.runIf(onLinux)('a path that may not be written', () => {
  const files = { 'keep/a': 'old', 'b.lock': 'old', 'src/c': 'old' };

  test('is read-only for commands, write and edit, and cannot be moved', async () => {
    // Through a program, because the words of a command are compared with the rules too.
    const commands = [
      attempt("open('keep/a','w')", "open('keep/new','w')", "os.remove('keep/a')", "os.rename('keep','moved')", "os.rename('keep/a','x')"),
      attempt(
        "open('b.lock','w')",
        "os.remove('b.lock')",
        "os.rename('b.lock','x')",
        "os.rename('src/c','b.lock')",
        "os.truncate('b.lock',0)",
      ),
      `${attempt("open('src/c','w').write('new')")}; cat keep/a b.lock`,
      'echo x > keep/a',
    ];
    const { results, files: left } = await play(
      [
        ...commands.map(bash),
        { tool: 'write', args: { path: 'keep/a', content: 'new' } },
        { tool: 'read', args: { path: 'b.lock' } },
        { tool: 'edit', args: { path: 'b.lock', old: 'old', new: 'new' } },
      ],
      { rules: ['deny write:keep/*', 'ask edit:*.lock'], files },
    );
    expect(left()).toEqual({ 'keep/a': 'old', 'b.lock': 'old', 'src/c': 'new' });
    expect(results.map(({ status }) => status).slice(3)).toEqual(['denied', 'denied', 'ok', 'denied']);
    expect(results[0]?.output).toBe(Array(5).fill('refused').join('\n'));
    expect(results[1]?.output).toBe(Array(5).fill('refused').join('\n'));
    expect(results[2]?.output).toBe('done\noldold');
  });

  test('is renamed if a command creates it where no folder could be closed', async () => {
    const { results, files: left } = await play([bash(attempt("os.mkdir('d')", "open('d/new.lock','w')", "open('d/other','w')"))], {
      rules: ['deny write:*.lock'],
      files,
    });
    const names = Object.keys(left());
    expect(names.filter((name) => name.endsWith('new.lock'))).toEqual([]);
    expect(names.some((name) => /^d\/new\.lock\.refused-/.test(name))).toBe(true);
    expect(results[0]?.output).toMatch(/d\/new\.lock\.refused-\w+ may not be created by a command; it was renamed/);
  });

  test('without a pattern the sandbox is read-only, and edit is closed too', async () => {
    const { results, files: left } = await play(
      [
        bash(attempt("open('new','w')", "open('src/c','w')")),
        { tool: 'read', args: { path: 'src/c' } },
        { tool: 'edit', args: { path: 'src/c', old: 'old', new: 'x' } },
      ],
      { rules: ['deny write'], files },
    );
    expect(left()).toEqual(files);
    expect(results[0]?.output).toBe('refused\nrefused');
    expect(results[2]?.status).not.toBe('ok');
  });

  test('exceptions stay writable', async () => {
    const { files: left } = await play([bash(attempt("open('src/c','w').write('x')", "open('keep/a','w')", "open('b.lock','w')"))], {
      rules: ['deny write', 'allow write:src/*'],
      files,
    });
    expect(left()).toEqual({ ...files, 'src/c': 'x' });
  });
});

test.runIf(onLinux)('rules that close too much file by file start no command', async () => {
  const files = Object.fromEntries(Array.from({ length: 2_001 }, (_, n) => [`many/${n}.key`, '']));
  const { results } = await play([bash('touch started')], { rules: ['deny read:*.key'], files });
  expect(results[0]).toMatchObject({
    status: 'error',
    output: expect.stringMatching(/not started: .* more than 2000 files .* close their folders/),
  });
  expect(existsSync('started')).toBe(false);
});

describe.runIf(onLinux)('links to files that rules close to writing', () => {
  const files = { 'CLAUDE.md': 'rules', 'target.yml': 'a: 1', 'real/app.yml': 'b: 2', 'sub/end.yml': 'c: 3' };
  const links = {
    'AGENTS.md': 'CLAUDE.md',
    'config.yml': 'target.yml',
    conf: 'real',
    'deep/more/link.yml': '../../first.yml',
    'first.yml': 'second.yml',
    'second.yml': 'sub/end.yml',
    'out.yml': '/etc/hostname',
  };
  const rules = ['config.yml', 'conf/app.yml', 'deep/more/link.yml', 'out.yml'].map((path) => `deny write:${path}`);
  const replace = (path: string) => `import os, pathlib; os.unlink('${path}'); pathlib.Path('${path}').write_text('evil')`;
  const python = (code: string) => bash(`python3 -c "${code}"`);

  test.each(['AGENTS.md', 'config.yml', 'first.yml', 'second.yml', 'out.yml', 'deep/more/link.yml'])(
    '%s is put back if a command replaces it, and the model is told',
    async (path) => {
      const played = await play([python(replace(path))], { rules, files, links });
      expect(played.results[0]?.output).toContain(
        `${path} leads to a closed file and may not be changed by a command; the link was restored`,
      );
      expect(played.links).toEqual(links);
      expect(played.files()).toMatchObject(files);
      const renamed = Object.entries(played.files()).filter(([, text]) => text === 'evil');
      expect(renamed.map(([name]) => name.replace(/-\w+$/, ''))).toEqual([`${path}.refused`]);
    },
  );

  test('a link in place of a folder is put back, whatever replaces it', async () => {
    const commands = [
      "import os, pathlib; os.unlink('conf'); os.mkdir('conf'); pathlib.Path('conf/app.yml').write_text('evil')",
      "import os; os.unlink('conf'); os.symlink('sub', 'conf')",
      "import os; os.unlink('conf')",
      "import os; os.rename('conf', 'moved')",
    ];
    for (const command of commands) {
      const played = await play([python(command)], { rules, files, links });
      expect(played.results[0]?.output, command).toContain('conf leads to a closed file');
      expect(played.links, command).toMatchObject({ conf: 'real' });
      expect(played.files(), command).toMatchObject(files);
    }
  });

  test('a folder above such a link cannot be moved or removed', async () => {
    const played = await play([bash(attempt("os.rename('deep', 'moved')", "os.rename('deep/more', 'moved')"))], { rules, files, links });
    expect(played.results[0]?.output).toBe('refused\nrefused');
  });

  test('a command that leaves the links alone hears nothing of them', async () => {
    const played = await play([bash('cat AGENTS.md config.yml conf/app.yml; echo new > new.txt')], { rules, files, links });
    expect(played.results[0]?.output).not.toContain('link');
    expect(played.links).toEqual(links);
  });
});
