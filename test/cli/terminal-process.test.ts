// A corpus of what terminals act on, in every field that some command prints, through the real program. Whatever the format, none of it comes out.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createPlace } from './support-process.ts';

const corpus = [
  '\x1b]0;owned\x07',
  '\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\',
  '\x1b]52;c;cm0gLXJmIC8=\x07',
  '\x1bP1$qm\x1b\\',
  '\x1b_Gi=1;AAAA\x1b\\',
  '\x1b^pm\x1b\\',
  '\x1b[6n\x1b[2J\x1b[31m',
  '\x9b31m\x9d0;t\x9c\x90x\x9c\x85',
  '\u202egpj.exe\u202c\u2066x\u2069\u200f\u061c',
  'a\u200b\u2060\ufeff\u{e0041}b',
  'safe\rEVIL\b\b\x07\x7f',
  '\x1b]0;never ends',
  '\x1b',
].join(' ');
const dangerous = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;
const hostile = (word: string) => `${word}${corpus}${word}`;

/** As an argument: NUL cannot be in one. */
const script = {
  runs: [
    {
      when: { label: 'child' },
      steps: [
        {
          text: hostile('text'),
          calls: [
            { tool: 'read', args: { path: 'f' } },
            { tool: 'list', args: { path: '.' } },
            { tool: 'bash', args: { command: `printf '%s' "${hostile('command').replaceAll('\\', '')}"` } },
            { tool: hostile('tool'), args: { path: hostile('argument') } },
            { tool: 'write', args: { path: `new${corpus.replaceAll('/', '')}`.slice(0, 100), content: hostile('content') } },
          ],
        },
        { text: hostile('summary') },
      ],
    },
    {
      when: { task: 'fails' },
      steps: [{ error: { status: 400, message: hostile('message') } }],
    },
    {
      times: 'any',
      steps: [
        { calls: [{ tool: 'delegate', args: { tasks: [{ task: hostile('task'), label: 'child', context: hostile('context') }] } }] },
        { text: hostile('report') },
      ],
    },
  ],
};

it('nothing that a terminal acts on is printed, in any field of any command, and JSON is JSON', { timeout: 120_000 }, async () => {
  using place = createPlace(script);
  writeFileSync(join(place.folder, 'f'), hostile('file'));
  writeFileSync(join(place.folder, `name${corpus.replaceAll('/', '')}`.slice(0, 120)), 'x');
  mkdirSync(join(place.folder, '.claude/agents'), { recursive: true });
  const front = (name: string, more: string) =>
    `---\nname: ${name}\ndescription: ${JSON.stringify(hostile('description'))}\n${more}---\n${hostile('prompt')}\n`;
  writeFileSync(join(place.folder, '.claude/agents/own.md'), front('own', ''));
  writeFileSync(join(place.folder, '.claude/agents/bad.md'), front('bad', `${JSON.stringify(hostile('key'))}: 1\n`));
  writeFileSync(join(place.folder, 'bad.json'), JSON.stringify({ [hostile('key')]: hostile('value'), model: 1, rules: [hostile('rule')] }));
  writeFileSync(
    join(place.folder, 'retinue.config.json'),
    JSON.stringify({ rules: [`allow bash:${hostile('pattern')}`], model: `script/${corpus}` }),
  );
  const outputs: { args: string[]; text: string }[] = [];
  const jsons: string[] = [];
  const run = async (...args: string[]) => {
    const { out, err } = await place.run(...args);
    outputs.push({ args, text: out }, { args, text: err });
    if (args.includes('--json')) jsons.push(...(args[0] === 'export' ? [] : [out]));
    return out;
  };
  const argument = hostile('root').replaceAll('\0', '');
  await run('run', '--model', 'script/script.json', '--allow', 'bash', '--label', argument.slice(0, 150), argument);
  await run('run', '--model', 'script/script.json', 'fails');
  await run('run', '--model', 'script/script.json', '--json', 'again');
  await run('run', '--model', `script/${argument}`, 'x');
  await run('run', '--agent', argument, 'x');
  await run('run', '--deny', argument, 'x');
  await run('run', '--config', 'bad.json', 'x');
  await run('run', '--file', argument, 'x');
  await run('memory', 'add', argument.slice(0, 180), argument);
  await run(argument.replace(/ /g, ''));
  const [first] = JSON.parse(await run('ps', '--all', '--json')) as { runId: string; parentId: string | null }[];
  const ids = (JSON.parse(await run('ps', '--all', '--json')) as { runId: string }[]).map(({ runId }) => runId);
  for (const id of ids.slice(0, 4))
    for (const command of ['show', 'logs']) for (const json of [[], ['--json']]) await run(command, id, ...json);
  expect(first).toBeDefined();
  for (const command of [
    ['ps', '--all'],
    ['top', '--plain', '--all'],
    ['attach', 'last', '--plain'],
    ['logs', 'last', '--tree'],
    ['agents'],
    ['agents', '--json'],
    ['agents', 'explain', 'own'],
    ['agents', 'explain', argument],
    ['config'],
    ['config', '--json'],
    ['doctor'],
    ['doctor', '--json'],
    ['trust'],
    ['show', argument],
    ['wait', 'last'],
    ['verify'],
    ['export', 'last'],
    ['replay', 'last'],
    ['policy', 'test', `bash:${argument}`],
    ['policy', 'test', `write:${argument}`, '--json'],
    ['approve'],
    ['approve', argument],
    ['memory', 'list'],
    ['memory', 'list', '--json'],
    ['dialects'],
  ])
    await run(...command);
  expect(outputs.filter(({ text }) => dangerous.test(text))).toEqual([]);
  for (const text of jsons.filter((each) => each.trim() !== '')) expect(() => JSON.parse(text)).not.toThrow();
  // What is not an order to the terminal is there.
  const all = outputs.map(({ text }) => text).join('\n');
  for (const word of ['root', 'text', 'summary', 'report', 'message', 'description', 'file', 'argument', 'key'])
    expect(all).toContain(word);
});
