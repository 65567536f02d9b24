// Programs that execute what they are given: shells, interpreters, and those that start another command.
import { basename } from 'node:path';
import type { Word } from '../read-word.ts';
import { operands, type Verb } from './program.ts';

/** They start the program that their own words name. */
const wrappers =
  `env sudo doas nohup setsid timeout nice ionice time command builtin exec xargs stdbuf strace ltrace gdb lldb valgrind perf chroot unshare nsenter bwrap
  firejail busybox toybox chrt taskset numactl setarch linux32 linux64 i386 x86_64 arch setpriv capsh prlimit systemd-run dbus-run-session xvfb-run fakeroot
  proot caffeinate chronic unbuffer ncat rlwrap cgexec start-stop-daemon coproc pkexec ts eatmydata faketime direnv mise asdf nix choom runcon uclampset
  pipexec ld.so sshpass ssh-agent logsave run-parts torsocks proxychains proxychains4 cpulimit`.split(/\s+/);

/** They hand a line, or their words joined to one, to a shell. */
const liners =
  'eval trap watch parallel sem ssh mosh rsh su runuser script flock sg newgrp at batch entr expect socat tmux screen nix-shell hyperfine'.split(
    ' ',
  );

const shells = 'sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh yash osh nu elvish'.split(' ');

/** Whether a word names a shell, or what reads commands as one does. */
export function isShell(word: string): boolean {
  return shells.includes(basename(word)) || word === 'source' || word === '.' || liners.includes(basename(word));
}

/** Which flags an interpreter may have before the script for a pattern to allow it. Everything else, and no script at all, is unsafe. */
const interpreters: Record<string, RegExp> = {
  python: /^-([bBdEIOOsSuvx]+|V|-version)$/,
  node: /^--?(v|version|test|check|watch|trace-warnings|no-warnings|enable-source-maps|test-reporter=\w+|test-only)$/,
  ruby: /^-(w|v|-version)$/,
  perl: /^-(w|v|-version)$/,
  php: /^-(v|-version)$/,
  lua: /^-v$/,
  deno: /^--version$/,
  bun: /^--version$/,
  Rscript: /^--version$/,
  osascript: /^$/,
  tclsh: /^$/,
  guile: /^--version$/,
  julia: /^--version$/,
  scala: /^$/,
  groovy: /^$/,
  jshell: /^$/,
  irb: /^$/,
};
/** Modules of python that are tools for the code of the workspace, as `npm test` is. */
const modules = new Set('pytest unittest mypy ruff black isort flake8 pylint tox nox coverage json.tool'.split(' '));
const firstWords = new Set(['run', 'test', 'lint', 'fmt', 'check', 'install', 'build', 'task', 'x']);

function interpreter(flags: RegExp): Verb {
  return {
    check(words) {
      const at = words.findIndex(({ text }, index) => index > 0 && !flags.test(text));
      const rest = words.slice(1);
      if (at === -1) return rest.some(({ text }) => /^-(V|v|-version|-test)$/.test(text)) ? null : 'it executes what it reads';
      const script = words[at] as Word;
      if (rest.some(({ text }) => /^\/+(dev|proc)\//.test(text))) return 'it may execute what it reads';
      // Its second file is written.
      if (words[at + 1]?.text === 'json.tool' && operands(words.slice(at + 1)).length > 1) return 'it writes a file';
      if (script.text === '-m' && modules.has(words[at + 1]?.text ?? '')) return null;
      if (script.text.startsWith('-')) return `with \`${script.text}\` it may execute code that no rule can see`;
      return script.literal ? null : 'nobody knows which script it executes';
    },
  };
}

// A script without a folder in its name is looked for in PATH too, so `bash rm` is rm.
const shell: Verb = { always: 'a shell executes what no rule can see', wraps: true, code: 'flag' };
const wrapper: Verb = { always: 'it starts another command', wraps: true };
const liner: Verb = { always: 'it executes its words as a command', wraps: true, code: 'words' };

/** What stands behind these is found by a deny; to allow them is to allow what the project itself runs. */
const runners: Record<string, Verb> = {
  ...Object.fromEntries('npx bunx uvx pipx dotenv'.split(' ').map((name) => [name, { runs: ['*'] }])),
  ...Object.fromEntries(
    'yarn poetry pipenv uv bundle hatch rye rbenv pyenv'.split(' ').map((name) => [name, { runs: ['exec', 'dlx', 'x', 'run'] }]),
  ),
};

export const starting: Record<string, Verb> = {
  ...runners,
  ...Object.fromEntries(wrappers.map((name) => [name, wrapper])),
  ...Object.fromEntries(liners.map((name) => [name, liner])),
  ...Object.fromEntries(shells.map((name) => [name, shell])),
  source: { always: 'it executes a file in this shell', wraps: true },
  '.': { always: 'it executes a file in this shell', wraps: true },
  env: { ...wrapper, code: 'split' },
  find: {
    words: `-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from`.split(' '),
    wraps: true,
    textFlags: ['-name', '-iname', '-path', '-ipath', '-regex', '-iregex', '-wholename', '-printf'],
  },
  fd: { short: 'xXC', long: ['exec', 'exec-batch', 'base-directory', 'search-path', 'ignore-file'], wraps: true },
  fdfind: { short: 'xXC', long: ['exec', 'exec-batch', 'base-directory', 'search-path', 'ignore-file'], wraps: true },
};

/** `python3.12` is python, and the loader of programs (`ld-linux-x86-64.so.2`) starts any. */
export function interpreterOf(name: string): Verb | undefined {
  const plain = name
    .replace(/[\d.]+$/, '')
    .replace(/^nodejs$/, 'node')
    .replace(/^pypy$/, 'python');
  if (/^ld(64|-[\w.-]+)?\.so(\.\d+)*$/.test(name)) return wrapper;
  const flags = interpreters[name] ?? interpreters[plain];
  if (flags === undefined) return undefined;
  const verb = interpreter(flags);
  if (plain !== 'deno' && plain !== 'bun') return verb;
  return {
    ...verb,
    check: (words, places) => (firstWords.has(words[1]?.text ?? '') ? fromElsewhere(words) : (verb.check?.(words, places) ?? null)),
  };
}

/** Deno and bun also execute what they read, and what an address names. */
function fromElsewhere(words: Word[]): string | null {
  return words.some(({ text }) => /^-$|^\/+(dev|proc)\/|^\w+:/.test(text)) ? 'it may execute code that no rule can see' : null;
}
