// Programs that execute what they are given: shells, interpreters, and programs that start another command.
import { basename } from 'node:path';
import type { ShellWord } from '../read-word.ts';
import { createProgramsLike, findOperands, type Program, splitList } from './program.ts';

/** Start the program that their arguments name. */
const wrappers = `env sudo doas nohup setsid timeout nice ionice time command builtin exec xargs stdbuf strace ltrace gdb lldb valgrind perf chroot unshare nsenter bwrap
  firejail busybox toybox chrt taskset numactl setarch linux32 linux64 i386 x86_64 arch setpriv capsh prlimit systemd-run dbus-run-session xvfb-run fakeroot
  proot caffeinate chronic unbuffer ncat rlwrap cgexec start-stop-daemon coproc pkexec ts eatmydata faketime direnv mise asdf nix choom runcon uclampset
  pipexec ld.so sshpass ssh-agent logsave run-parts torsocks proxychains proxychains4 cpulimit`;

/** Pass a command line, or their words joined into one, to a shell. */
const commandLineRunners =
  'eval trap watch parallel sem ssh mosh rsh su runuser script flock sg newgrp at batch entr expect socat tmux screen nix-shell hyperfine';

const shells = 'sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh yash osh nu elvish';
const shellLike = new Set([...splitList(shells), ...splitList(commandLineRunners)]);

/** Whether a word names a shell or a program that reads commands like one. */
export function isShell(word: string): boolean {
  return shellLike.has(basename(word)) || word === 'source' || word === '.';
}

const shellNames = new Set(splitList(shells));

/** Whether a program executes its standard input as commands. */
export function isCommandShell(name: string): boolean {
  return shellNames.has(name);
}

/** The flags that an interpreter may have before its script. Any other flag, and no script at all, is unsafe. */
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
/** Python modules that work on the code of the workspace, as `npm test` does. */
const pythonModules = new Set(splitList('pytest unittest mypy ruff black isort flake8 pylint tox nox coverage json.tool'));
const denoSubcommands = new Set(splitList('run test lint fmt check install build task x'));

function findInterpreterProblem(words: ShellWord[], flags: RegExp): string | null {
  const at = words.findIndex(({ text }, index) => index > 0 && !flags.test(text));
  const rest = words.slice(1);
  if (at === -1) return rest.some(({ text }) => /^-(V|v|-version|-test)$/.test(text)) ? null : 'it executes what it reads';
  const script = words[at] as ShellWord;
  if (rest.some(({ text }) => /^\/+(dev|proc)\//.test(text))) return 'it may execute what it reads';
  // json.tool writes its second file.
  if (words[at + 1]?.text === 'json.tool' && findOperands(words.slice(at + 1)).length > 1) return 'it writes a file';
  if (script.text === '-m' && pythonModules.has(words[at + 1]?.text ?? '')) return null;
  if (script.text.startsWith('-')) return `with \`${script.text}\` it may execute code that no rule can see`;
  return script.literal ? null : 'the script it executes is known only when it runs';
}

const wrapper: Program = { alwaysUnsafe: 'it starts another command', runsItsArguments: true };
const sourcing: Program = { alwaysUnsafe: 'it executes a file in this shell', runsItsArguments: true };
const fd: Program = {
  unsafeLetters: 'xXC',
  unsafeLong: ['exec', 'exec-batch', 'base-directory', 'search-path', 'ignore-file'],
  runsItsArguments: true,
};

export const launchers: Record<string, Program> = {
  // Allowing these allows what the project itself runs; a deny still finds the command after them.
  ...createProgramsLike('npx bunx uvx pipx dotenv', { runnerWords: ['*'] }),
  ...createProgramsLike('yarn poetry pipenv uv bundle hatch rye rbenv pyenv', { runnerWords: ['exec', 'dlx', 'x', 'run'] }),
  ...createProgramsLike(wrappers, wrapper),
  ...createProgramsLike(commandLineRunners, {
    alwaysUnsafe: 'it executes its words as a command',
    runsItsArguments: true,
    codeAt: 'words',
  }),
  // A script name without a directory is also searched in PATH, so `bash rm` runs rm.
  ...createProgramsLike(shells, { alwaysUnsafe: 'a shell executes what no rule can see', runsItsArguments: true, codeAt: 'flag' }),
  source: sourcing,
  '.': sourcing,
  env: { ...wrapper, codeAt: 'split' },
  find: {
    unsafeWords: splitList('-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from -D'),
    runsItsArguments: true,
    textFlags: splitList('-name -iname -path -ipath -regex -iregex -wholename -printf'),
  },
  fd,
  fdfind: fd,
};

/** Also recognises versions (`python3.12`) and the dynamic loader (`ld-linux-x86-64.so.2`), which starts any program. */
export function findInterpreter(name: string): Program | undefined {
  const plain = name
    .replace(/[\d.]+$/, '')
    .replace(/^nodejs$/, 'node')
    .replace(/^pypy$/, 'python');
  if (/^ld(64|-[\w.-]+)?\.so(\.\d+)*$/.test(name)) return wrapper;
  const flags = interpreters[name] ?? interpreters[plain];
  if (flags === undefined) return undefined;
  const checkFlags = (words: ShellWord[]) => findInterpreterProblem(words, flags);
  if (plain !== 'deno' && plain !== 'bun') return { findProblem: checkFlags };
  return { findProblem: (words) => (denoSubcommands.has(words[1]?.text ?? '') ? checkCodeSource(words) : checkFlags(words)) };
}

/** deno and bun also execute standard input and code from an address. */
function checkCodeSource(words: ShellWord[]): string | null {
  return words.some(({ text }) => /^-$|^\/+(dev|proc)\/|^\w+:/.test(text)) ? 'it may execute code that no rule can see' : null;
}
