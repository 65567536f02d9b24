// Files whose change needs approval: ordinary work, but agents obey them or programs take commands from them. A rule of the user such as
// `allow write:AGENTS.md` decides otherwise. `**/`: programs look for them in every folder.
export interface AskedFile {
  path: string;
  reason: string;
}

export const askedFiles: readonly AskedFile[] = [
  { path: '**/AGENTS.md', reason: 'every later run obeys it' },
  { path: '**/CLAUDE.md', reason: 'Claude Code and later runs obey it' },
  { path: '**/CLAUDE.local.md', reason: 'Claude Code obeys it' },
  { path: '**/.claude/rules', reason: 'Claude Code obeys the files in it' },
  { path: '**/GEMINI.md', reason: 'Gemini CLI obeys it' },
  { path: '**/.npmrc', reason: 'it can name a shell, a registry and options for every npm command' },
  { path: '**/.yarnrc.yml', reason: 'it names the program and the plugins that yarn runs' },
  { path: '**/.cargo/config.toml', reason: 'it names the compiler, linker and runner that cargo starts' },
  { path: '**/.cargo/config', reason: 'the older name of .cargo/config.toml' },
];
