// Build tools and package managers, which run what the project defines. A rule that allows them allows that, but not flags that bring in
// instructions from elsewhere.
import type { ShellWord } from '../read-word.ts';
import { findOperands, type Program, splitList } from './program.ts';

const toSet = (text: string): Set<string> => new Set(splitList(text));

const npmLong =
  `prefix script-shell userconfig globalconfig node-options shell git editor viewer browser init-module cache global call location
  node-gyp`.split(/\s+/);
const npmCommands =
  toSet(`test t tst run run-script rum urn start stop restart ci clean-install ic install-clean isntall-clean install i in ins add isntall
  uninstall un unlink remove rm r update up upgrade udpate outdated ls list la ll view info show v why explain audit prune dedupe ddp fund search s se find ping
  root prefix bin help doctor whoami query rebuild rb exec x install-test it install-ci-test cit pack publish version shrinkwrap dist-tag deprecate logout
  cache diff completion`);
const npmFlags =
  toSet(`-s --silent -q --quiet -d -dd -ddd --verbose --loglevel --if-present -w --workspace -ws --workspaces --include-workspace-root
  --json --long -l --parseable -p --all -a --depth --no-audit --no-fund --no-progress --no-color --color --omit --only --include --production --dev -D --save-dev -S
  --save -P --save-prod -O --save-optional -E --save-exact --no-save --dry-run --ignore-scripts --foreground-scripts --prefer-offline --prefer-online --offline
  -v --version --yes -y --force -f --legacy-peer-deps --strict-peer-deps --package-lock-only --no-package-lock --audit-level --tag --access --unicode
  --no-unicode --timing`);
const npmBase: Program = { unsafeLong: npmLong, unsafeLetters: 'gC', acceptsAnyDashes: true, codeFlags: ['--call', '-c'] };

const makeFlags = /^-([kqsBinvwrRpdS]|[jl]\d*)+$|^-f$|^--$/;
const makeLong =
  toSet(`--jobs --keep-going --silent --quiet --always-make --dry-run --just-print --version --print-directory --no-print-directory --output-sync
  --question --trace --warn-undefined-variables --load-average --no-builtin-rules --no-builtin-variables --print-data-base --debug --help --touch`);
const goFlags =
  /^--?(v|x|n|a|run|bench|benchmem|benchtime|count|race|cover|covermode|coverpkg|short|timeout|parallel|cpu|failfast|json|list|shuffle|tags|mod|trimpath|m|u|t|d|e|f|deps|all|skip|fuzz|fuzztime|h|p|vet|buildvcs|msan|asan|test|l|s|diff|versions|retracted|compat|go|cache|testcache)(=.*)?$/s;

const make: Program = { findProblem: checkMake };

/** With the aliases of npm itself, which also accepts abbreviations. */
const npmSubcommands = new Set(
  splitList(`access adduser add-user audit bugs issues cache ci clean-install ic install-clean completion config c dedupe ddp deprecate diff dist-tag dist-tags docs
    home doctor edit exec x explain why explore find-dupes fund get help help-search init create innit install i in add isntall install-ci-test cit
    install-test it link ln ll la login logout ls list org ogr outdated owner author pack ping pkg prefix profile prune publish query rebuild rb repo
    restart root run run-script rum urn sbom search find s se set shrinkwrap star stars start stop team test t tst token undeprecate uninstall unlink
    remove rm r un unpublish unstar update up upgrade udpate version verison view info show v whoami`),
);
const cargoSubcommands = new Set(
  splitList(`add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init install locate-project login logout metadata new owner
    package pkgid publish r read-manifest remove report rm run rustc rustdoc search t test tree uninstall update vendor verify-project version yank`),
);

export const buildTools: Record<string, Program> = {
  make,
  gmake: make,
  go: { findProblem: checkGo },
  cargo: { subcommands: cargoSubcommands, unsafeLong: ['config', 'target-dir', 'out-dir', 'manifest-path'], unsafeLetters: 'CZ' },
  npm: { ...npmBase, findProblem: checkNpm, runnerWords: ['exec', 'x'], subcommands: npmSubcommands },
  pnpm: { ...npmBase, runnerWords: ['exec', 'dlx', 'x', 'run'] },
};

/** npm accepts any number of dashes and abbreviated flags, so only listed flags pass. Words after `--` belong to the script. */
function checkNpm(words: ShellWord[]): string | null {
  const end = words.findIndex(({ text }) => /^-{2,}$/.test(text));
  const own = end === -1 ? words : words.slice(0, end);
  const flag = own.find(({ text }) => text.startsWith('-') && !npmFlags.has(text.split('=', 1)[0] as string));
  if (flag) return `\`${flag.text}\` of npm is not known to be harmless`;
  const commands = findOperands(own);
  const [command] = commands;
  // A flag with a value may precede the command.
  const isFirst = command === undefined || own[1] === command;
  const unknown = (isFirst ? commands.slice(0, 1) : commands).find(({ text }) => !npmCommands.has(text));
  return unknown ? `\`npm ${unknown.text}\` is not known to be harmless` : null;
}

/** A word with `=` sets a variable whose value may be a command. A makefile from outside the project may contain any command. */
function checkMake(words: ShellWord[]): string | null {
  const rest = words.slice(1);
  const flag = rest.find(({ text }) => text.startsWith('-') && !makeFlags.test(text) && !makeLong.has(text.split('=', 1)[0] as string));
  if (flag) return `\`${flag.text}\` of make is not known to be harmless`;
  if (rest.some(({ text }) => text.includes('=') && !text.startsWith('-'))) return 'it sets a variable that recipes use';
  const makefile = rest.find(
    ({ text, literal }) => text === '-' || /^\/(dev|proc)\b/.test(text) || /^[<>]\(/.test(text) || (!literal && text.includes('$')),
  );
  return makefile ? `\`${makefile.text}\` may be a makefile that no rule can see` : null;
}

function checkGo(words: ShellWord[]): string | null {
  const flag = words.find(({ text }, index) => index > 0 && text.startsWith('-') && !goFlags.test(text));
  return flag ? `\`${flag.text}\` of go is not known to be harmless` : null;
}
