// Programs that run what the project says. A pattern allows that; flags that bring instructions from elsewhere are not part of it.
import type { Word } from '../read-word.ts';
import { operands, type Verb } from './program.ts';

const list = (text: string): Set<string> => new Set(text.trim().split(/\s+/));

const npmLong =
  `prefix script-shell userconfig globalconfig node-options shell git editor viewer browser init-module cache global call location
  node-gyp`.split(/\s+/);
const npmCommands =
  list(`test t tst run run-script rum urn start stop restart ci clean-install ic install-clean isntall-clean install i in ins add isntall
  uninstall un unlink remove rm r update up upgrade udpate outdated ls list la ll view info show v why explain audit prune dedupe ddp fund search s se find ping
  root prefix bin help doctor whoami query rebuild rb exec x install-test it install-ci-test cit pack publish version shrinkwrap dist-tag deprecate logout
  cache diff completion`);
const npmFlags =
  list(`-s --silent -q --quiet -d -dd -ddd --verbose --loglevel --if-present -w --workspace -ws --workspaces --include-workspace-root
  --json --long -l --parseable -p --all -a --depth --no-audit --no-fund --no-progress --no-color --color --omit --only --include --production --dev -D --save-dev -S
  --save -P --save-prod -O --save-optional -E --save-exact --no-save --dry-run --ignore-scripts --foreground-scripts --prefer-offline --prefer-online --offline
  -v --version --yes -y --force -f --legacy-peer-deps --strict-peer-deps --package-lock-only --no-package-lock --audit-level --tag --access --unicode
  --no-unicode --timing`);
const npmBase: Verb = { long: npmLong, short: 'gC', anyDashes: true, lines: ['--call', '-c'] };

const makeFlags = /^-([kqsBinvwrRpdS]|[jl]\d*)+$|^-f$|^--$/;
const makeLong =
  list(`--jobs --keep-going --silent --quiet --always-make --dry-run --just-print --version --print-directory --no-print-directory --output-sync
  --question --trace --warn-undefined-variables --load-average --no-builtin-rules --no-builtin-variables --print-data-base --debug --help --touch`);
const goFlags =
  /^--?(v|x|n|a|run|bench|benchmem|benchtime|count|race|cover|covermode|coverpkg|short|timeout|parallel|cpu|failfast|json|list|shuffle|tags|mod|trimpath|m|u|t|d|e|f|deps|all|skip|fuzz|fuzztime|h|p|vet|buildvcs|msan|asan|test|l|s|diff|versions|retracted|compat|go|cache|testcache)(=.*)?$/s;

const make: Verb = { check: checkMake };

export const builders: Record<string, Verb> = {
  make,
  gmake: make,
  go: { check: checkGo },
  cargo: { long: ['config', 'target-dir', 'out-dir', 'manifest-path'], short: 'CZ' },
  npm: { ...npmBase, check: checkNpm, runs: ['exec', 'x'] },
  pnpm: { ...npmBase, runs: ['exec', 'dlx', 'x', 'run'] },
};

/** Npm takes any number of dashes and beginnings of names, so that only what is listed passes. Behind `--` stand the words of the script. */
function checkNpm(words: Word[]): string | null {
  const end = words.findIndex(({ text }) => /^-{2,}$/.test(text));
  const own = end === -1 ? words : words.slice(0, end);
  const odd = own.find(({ text }) => text.startsWith('-') && !npmFlags.has(text.split('=', 1)[0] as string));
  if (odd) return `\`${odd.text}\` of npm is not known to be harmless`;
  const commands = operands(own);
  const [command] = commands;
  // A flag with a value may stand before the command.
  const isFirst = command === undefined || own[1] === command;
  const hostile = (isFirst ? commands.slice(0, 1) : commands).find(({ text }) => !npmCommands.has(text));
  return hostile ? `\`npm ${hostile.text}\` is not known to be harmless` : null;
}

/** A word with `=` sets a variable, and its value may be a command; so may a makefile that is no file of the project. */
function checkMake(words: Word[]): string | null {
  const rest = words.slice(1);
  const odd = rest.find(({ text }) => text.startsWith('-') && !makeFlags.test(text) && !makeLong.has(text.split('=', 1)[0] as string));
  if (odd) return `\`${odd.text}\` of make is not known to be harmless`;
  if (rest.some(({ text }) => text.includes('=') && !text.startsWith('-'))) return 'it sets a variable that recipes obey';
  const from = rest.find(
    ({ text, literal }) => text === '-' || /^\/(dev|proc)\b/.test(text) || /^[<>]\(/.test(text) || (!literal && text.includes('$')),
  );
  return from ? `\`${from.text}\` may be a makefile that no rule can see` : null;
}

function checkGo(words: Word[]): string | null {
  const odd = words.find(({ text }, index) => index > 0 && text.startsWith('-') && !goFlags.test(text));
  return odd ? `\`${odd.text}\` of go is not known to be harmless` : null;
}
