// A deny finds a command in any construct, and a pattern that allows a command does not cover commands next to it.
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { loadParser } from '../../src/tools/shell/analysis/parser.ts';
import { decideCommand, ownerRules } from './shell-support.ts';

beforeAll(loadParser);

const spellings = [
  'rm x',
  "'rm' x",
  '"rm" x',
  '\\rm x',
  'r"m" x',
  "$'rm' x",
  "$'\\x72m' x",
  '/bin/rm x',
  "r''m -rf x",
  'rm "$y"',
  'rm',
  'x=1 rm y',
  '>o rm x',
  'rm x 2>&1',
];
const wrapping = [
  'sudo ',
  'env ',
  'env -i A=b ',
  'nohup ',
  'timeout 5 ',
  'nice -n 3 ',
  'command ',
  'exec ',
  'xargs ',
  'time ',
  'sudo -u root env ',
  'stdbuf -o0 ',
  'find . -exec ',
];
const around: ((inner: string) => string)[] = [
  (inner) => inner,
  (inner) => `ls; ${inner}`,
  (inner) => `${inner}; ls`,
  (inner) => `ls && ${inner}`,
  (inner) => `ls || ${inner} && wc`,
  (inner) => `ls | ${inner} | wc`,
  (inner) => `ls & ${inner}`,
  (inner) => `ls\n${inner}\nwc`,
  (inner) => `(${inner})`,
  (inner) => `{ ${inner}\n}`,
  (inner) => `echo $( ${inner})`,
  (inner) => `echo "a $( ${inner}) b"`,
  (inner) => `cat <(${inner})`,
  (inner) => `ls > >(${inner})`,
  (inner) => `if ${inner}\nthen ls\nfi`,
  (inner) => `if ls\nthen ${inner}\nelse wc\nfi`,
  (inner) => `for i in a b; do ${inner}\ndone`,
  (inner) => `while ls\ndo ${inner}\ndone`,
  (inner) => `until ${inner}\ndo ls\ndone`,
  (inner) => `case a in b) ls;; *) ${inner}\n;; esac`,
  (inner) => `f() { ${inner}\n}\nf`,
  (inner) => `x=$( ${inner})`,
  (inner) => `echo \${x:-$( ${inner})}`,
  (inner) => `[[ -n $( ${inner}) ]]`,
  (inner) => `cat <<EOF\na $( ${inner})\nEOF`,
  (inner) => `cat <<< "$( ${inner})"`,
  (inner) => `ls # c\n${inner}`,
];

const composed = (cores: string[]) =>
  fc
    .tuple(fc.constantFrom(...cores), fc.constantFrom('', '', '', ...wrapping), fc.array(fc.constantFrom(...around), { maxLength: 4 }))
    .filter(([core, wrapper]) => wrapper === '' || !/^(x=|>)/.test(core))
    .map(([core, wrapper, layers]) => layers.reduce((text, layer) => layer(text), `${wrapper}${core}`));

test('a denied command is denied wherever it stands', () => {
  const rules = ownerRules('allow bash', 'deny bash:rm *');
  fc.assert(
    fc.property(composed(spellings), (command) => void expect(decideCommand(rules, command)).toBe('deny')),
    { numRuns: 2_000 },
  );
});

test('code in a string for another shell is denied too', () => {
  const rules = ownerRules('allow bash', 'deny bash:rm *');
  const quoted = fc.tuple(
    composed(['rm x', 'rm -rf y', '/bin/rm z']),
    fc.constantFrom('bash -c ', 'sh -c ', 'eval ', 'sudo bash -euc ', 'env sh -c ', 'trap '),
  );
  fc.assert(
    fc.property(quoted, ([code, shell]) => void expect(decideCommand(rules, `${shell}'${code}'`)).toBe('deny')),
    { numRuns: 300 },
  );
});

test('an allowed command does not allow others', () => {
  const rules = ownerRules('ask bash', 'allow bash:git log *');
  const others = [
    'rm x',
    'ls',
    './git log',
    '/usr/bin/git log',
    'git status',
    'git logs',
    'x=1 git log',
    'git log >o',
    'git log $x',
    'git -c a=b log',
    'eval git log',
    'git log --output=x',
  ];
  const second = composed(others);
  const joined = fc
    .tuple(second, fc.constantFrom(...around.slice(1)), fc.constantFrom('; ', ' && ', ' | ', ' & ', '\n'))
    .map(([command, layer, joint]) => `git log -1${joint}${layer(command)}`);
  fc.assert(
    fc.property(joined, (command) => void expect(decideCommand(rules, command)).not.toBe('allow')),
    { numRuns: 2_000 },
  );
});

test('any text is either analysed or denied', () => {
  const rules = ownerRules('ask bash', 'allow bash:git log *');
  const scraps = `git| log| |\n|;|$(|)|\`|"|'|<<E\n|E\n|{|}|(|\\|#|$x|rm|>|<|&|=|[[|]]|$((|))|*`.split('|');
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.array(fc.constantFrom(...scraps), { maxLength: 12 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => void expect(['allow', 'ask', 'deny']).toContain(decideCommand(rules, text))),
    { numRuns: 3_000 },
  );
});
