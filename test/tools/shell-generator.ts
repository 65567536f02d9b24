// Random command lines: well-formed ones in every construct of bash, and the same with changed characters.
import fc from 'fast-check';

/** The only programs in PATH, besides those of `wrappers`. */
export const programs = ['p1', 'p2', 'p3', 'p4', 'p5'];
export const wrappers = ['env', 'xargs', 'timeout', 'nice', 'nohup', 'sh', 'bash', 'find'];

const name = fc
  .constantFrom(...programs)
  .chain((plain) =>
    fc.constantFrom(
      plain,
      plain,
      plain,
      `'${plain}'`,
      `"${plain}"`,
      `\\${plain}`,
      `${plain[0]}"${plain[1]}"`,
      `$'${plain}'`,
      `$'\\x70'${plain[1]}`,
      `''${plain}`,
      `${plain[0]}\\${plain[1]}`,
    ),
  );
const plainWord = fc.constantFrom('a', 'b1', '-x', '--long=v', 'x.y', 'a/b', '1', '%', '@', 'a=b', '^', ',', '+', 'a,b', 'a..b', 'é');
const quotedWord = fc.constantFrom(
  "'a b'",
  '"a b"',
  'a\\ b',
  "$'a\\tb'",
  '""',
  "''",
  `a"b"'c'`,
  "'#'",
  '"#x"',
  '\\#',
  "'p1 x'",
  '";p2"',
  "'$(p3)'",
  '\\;',
  '"a\\"b"',
  '"\\$x"',
  "'`p1`'",
  '"a\nb"',
  "'a\np4'",
  '$"x"',
  '"it\'s"',
  "'a'\\''b'",
  '\\$x',
  '"\\`"',
  "$'it\\'s'",
);
const oddWord = fc.constantFrom(
  ...'a#b if do done in fi time esac then { } {} [ ] ! = == =~ - -- $ a$ [[ ]] a] %{x} ~x {a function case x[1] a@b 10 #c'.split(' '),
  '\\\n',
  'a\\\nb',
);
const expandedWord = fc.constantFrom(
  ...`$x "$x" \${x} \${x:-a} $((1+2)) $((1+(2))) $? $# * ./* {a,b} ~ \${#x} "\${x%a}" $@ "$@" \${x:-"a"} $$`.split(' '),
);
const blank = fc.constantFrom(' ', ' ', ' ', '  ', '\t', ' \\\n ');
const newline = fc.constantFrom('; ', '\n', ' ; ', '\n\n', ' # c\n', ';\n');

export const script = fc.letrec<{ list: string; command: string; simple: string; word: string; substitution: string; redirect: string }>(
  (tie) => ({
    substitution: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('$(p1)', '`p2`', '"$(p3 a)"'),
      tie('list').map((list) => `$(${list})`),
      tie('list').map((list) => `"$(${list})"`),
      tie('command').map((command) => `<(${command})`),
      tie('list').map((list) => `\${x:-$(${list})}`),
      tie('simple').map((command) => `$((1+$(${command})))`),
    ),
    word: fc.oneof(
      { depthSize: 'small' },
      { arbitrary: plainWord, weight: 6 },
      { arbitrary: quotedWord, weight: 3 },
      { arbitrary: oddWord, weight: 2 },
      { arbitrary: expandedWord, weight: 1 },
      { arbitrary: tie('substitution'), weight: 1 },
    ),
    redirect: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(...'>o 2>&1 >>o </dev/null 2>/dev/null &>o <<<x >&2 2>o >|o <&- 3>&1 >/dev/null'.split(' '), '> o', '<<< "a b"'),
      tie('word').map((word) => `<<<${word}`),
    ),
    simple: fc
      .tuple(
        name,
        fc.array(fc.tuple(blank, fc.oneof({ arbitrary: tie('word'), weight: 6 }, { arbitrary: tie('redirect'), weight: 1 })), {
          maxLength: 4,
        }),
        fc.constantFrom('', '', '', '', 'x=1 ', 'A=b ', '! ', 'time ', '>o ', '2>&1 '),
      )
      .map(([first, rest, before]) => before + first + rest.map(([gap, word]) => gap + word).join('')),
    command: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { arbitrary: tie('simple'), weight: 8 },
      tie('list').map((list) => `(${list})`),
      tie('list').map((list) => `( ${list} )`),
      fc.tuple(tie('list'), newline).map(([list, end]) => `{ ${list}${end}}`),
      fc
        .tuple(tie('command'), tie('command'), fc.constantFrom(' | ', '|', ' |& ', ' && ', '||', ' && \n'))
        .map(([a, b, sign]) => a + sign + b),
      fc.tuple(tie('list'), newline, tie('list'), newline).map(([a, x, b, y]) => `if ${a}${x}then ${b}${y}else p5${y}fi`),
      fc
        .tuple(fc.array(plainWord, { maxLength: 2, minLength: 1 }), newline, tie('list'), newline)
        .map(([words, x, body, y]) => `for v in ${words.join(' ')}${x}do ${body}${y}done`),
      fc.tuple(tie('list'), newline, newline).map(([body, x, y]) => `while p1 && ! true${x}do ${body}${y}done`),
      fc
        .tuple(tie('word'), tie('list'), fc.constantFrom(';;', ';;&', ';&', '\n;;'))
        .map(([word, body, end]) => `case ${word} in a|b) p1;; *) ${body}${end} esac`),
      fc.tuple(tie('list'), newline).map(([body, end]) => `f() { ${body}${end}}; f`),
      fc.tuple(tie('command'), tie('redirect')).map(([command, redirect]) => `{ ${command}\n} ${redirect}`),
      fc
        .tuple(
          tie('simple'),
          fc.constantFrom('EOF', "'EOF'", '"E"', '\\E', '-EOF'),
          fc.array(fc.oneof(plainWord, quotedWord, expandedWord, tie('substitution')), { maxLength: 3 }),
          fc.constantFrom('', ' | p5', ' && p4', ' >o', ' a'),
        )
        .map(
          ([command, mark, lines, after]) =>
            `${command} <<${mark}${after}\n${lines.map((line) => `${line}\n`).join('')}${mark.replace(/['"\\-]/g, '')}`,
        ),
      fc
        .tuple(tie('word'), fc.constantFrom('== a', '-n a', '=~ ^a(b|c)', '!= "x y"', '&& -f x'))
        .map(([word, rest]) => `[[ ${rest.startsWith('-n') ? rest : `${word} ${rest}`} ]]`),
      tie('word').map((word) => `[ ${word} = a ]`),
      tie('simple').map((simple) => `x=$(${simple})`),
      tie('word').map((word) => `x=${word}`),
      fc
        .tuple(
          fc.constantFrom('env', 'env -i', 'timeout 5', 'nice', 'nohup', 'command', 'exec', 'xargs', 'builtin command', 'env A=b'),
          fc.constantFrom(...programs),
        )
        .map(([wrapper, plain]) => `${wrapper} ${plain} a`),
      fc
        .tuple(
          fc.constantFrom('sh -c', 'bash -c', 'eval', 'bash -euc', 'trap'),
          fc.constantFrom(...programs),
          fc.constantFrom('', '; p2', ' && p3', ' $(p4)'),
        )
        .map(([shell, plain, more]) => `${shell} '${plain} a${more}'${shell === 'trap' ? ' EXIT' : ''}`),
      fc.constantFrom(...programs).map((plain) => `find . -maxdepth 0 -exec ${plain} {} \\;`),
    ),
    list: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { arbitrary: tie('command'), weight: 3 },
      fc.tuple(tie('command'), newline, tie('list')).map(([a, between, b]) => a + between + b),
      fc.tuple(tie('command'), tie('command')).map(([a, b]) => `${a} & ${b}`),
    ),
  }),
).list;

const scraps = [
  ...`'"\\$(){}[];&|<>#!*?= \n\t-x1\``,
  '$(',
  ')',
  '<<EOF\n',
  '\nEOF\n',
  '$((',
  '))',
  '<(',
  "$'",
  '${',
  '}',
  ';;',
  '&&',
  ' p1 ',
  ' p2;',
  '\\\n',
  ' do ',
  ' done ',
  ' if ',
  ' then ',
  ' fi ',
  ' in ',
  ' esac',
  '[[ ',
  ' ]]',
  '{ ',
  '; }',
  'x=',
  '((',
  '<<-E\n',
  "<<'E'\n",
  '\nE\n',
  '>|',
  '&>',
  '=(',
  'case a in ',
  ' #',
  '$"',
  'p3() ',
  '! ',
  'time ',
];

/** Plain commands in a row, so that many are safe and their words can be compared one by one. */
export const calm = fc
  .array(
    fc.tuple(
      name,
      fc.array(fc.tuple(blank, fc.oneof({ arbitrary: plainWord, weight: 2 }, { arbitrary: quotedWord, weight: 2 }, oddWord)), {
        maxLength: 5,
      }),
      fc.constantFrom('; ', '\n', ' | ', ' && ', ' || ', ' & ', ' 2>/dev/null\n', ' # c\n', ' <<< a;', " <<'E'\n$(p1)\nE\n"),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((commands) => commands.map(([first, words, joint]) => first + words.map((each) => each.join('')).join('') + joint).join(''))
  .map((text) => text.replace(/ (\|\|?|&&) $/, ''));

/** Some characters removed, inserted or doubled, as a hostile model might write. */
export function mangled(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const changes = fc.tuple(fc.nat(), fc.constantFrom('insert', 'delete', 'double', 'insert'), fc.constantFrom(...scraps));
  return fc
    .tuple(texts, fc.array(changes, { minLength: 1, maxLength: 4 }))
    .map(([text, all]) => all.reduce((now, [at, kind, scrap]) => change(now, at % (now.length + 1), { kind, scrap }), text));
}

function change(text: string, at: number, { kind, scrap }: { kind: string; scrap: string }): string {
  if (kind === 'insert') return text.slice(0, at) + scrap + text.slice(at);
  if (kind === 'delete') return text.slice(0, at) + text.slice(at + 1);
  return text.slice(0, at) + text.slice(at, at + 6) + text.slice(at);
}
