// Files that programs on the user's machine obey as soon as the folder is entered, opened or committed, without anybody reading them first. They count at
// the top of the workspace. Scripts, build files and workflows are not protected: they take effect only when a person starts or pushes them. `src/rules/asked-files.ts` lists files
// that are ordinary work but have more power than their content shows.

export interface ProtectedFiles {
  reason: string;
  /** Paths in the workspace; a folder with everything in it. */
  paths: string[];
}

const claude = ['agents', 'commands', 'hooks', 'plugins', 'settings.json', 'settings.local.json', 'skills'].map(
  (name) => `.claude/${name}`,
);
/** mise and lefthook, with every name of their file. */
const mise = ['mise', '.mise', 'mise.local', '.mise.local', '.config/mise'].map((name) => `${name}.toml`);
const lefthook = ['lefthook', '.lefthook', 'lefthook-local', '.lefthook-local', '.config/lefthook', '.config/lefthook-local'].flatMap(
  (name) => ['yml', 'yaml', 'toml', 'json', 'jsonc'].map((type) => `${name}.${type}`),
);

export const protectedFiles: readonly ProtectedFiles[] = [
  { reason: 'settings of Retinue', paths: ['retinue.config.json'] },
  { reason: 'agents, commands, hooks and servers that Claude Code loads', paths: ['.mcp.json', ...claude] },
  {
    reason: 'agents, recipes and skills that Retinue and other coding agents load',
    paths: ['.agents/skills', '.agents/recipes', '.goose', '.github/agents', '.github/skills'],
  },
  {
    reason: 'settings and rules that other coding agents load',
    paths: [
      ...[
        '.amp',
        '.codex',
        '.cursor',
        '.factory',
        '.gemini',
        '.kilocode',
        '.kiro',
        '.opencode',
        'opencode.json',
        'opencode.jsonc',
        '.qwen',
        '.roo',
      ],
      ...['.windsurf', '.zed', 'crush.json', '.crush.json', '.crush', '.continue', '.aider.conf.yml', '.junie', '.augment', '.trae'],
    ],
  },
  {
    reason: 'instructions that other coding agents obey',
    paths: ['.cursorrules', '.windsurfrules', '.clinerules', '.goosehints', '.augment-guidelines', '.github/copilot-instructions.md'],
  },
  {
    reason: 'settings by which editors start programs when they open the folder',
    paths: ['.vscode', '.idea', '.devcontainer', '.devcontainer.json'],
  },
  {
    reason: 'scripts that Vim runs in the folder',
    paths: ['.exrc', '.vimrc', '.gvimrc', '.nvimrc', '.nvim.lua', '.lvimrc', '.local.vimrc'],
  },
  { reason: 'code that Emacs evaluates when it opens a file', paths: ['.dir-locals.el', '.dir-locals-2.el'] },
  {
    reason: 'scripts that R, Ruby consoles and debuggers run when they start',
    paths: ['.Rprofile', '.Renviron', '.irbrc', '.pryrc', '.gdbinit', '.lldbinit', '.pdbrc'],
  },
  {
    reason: 'what a shell runs when it enters the folder',
    paths: ['.envrc', ...mise, 'mise/config.toml', '.mise', '.config/mise', '.rtx.toml'],
  },
  {
    reason: 'hooks that run at a commit, and other version control',
    paths: ['.husky', '.githooks', ...lefthook, '.lefthook', '.lefthook-local', '.overcommit.yml', '.pre-commit-config.yaml', '.hg', '.jj'],
  },
  {
    reason: 'code and extensions that package managers load before they do anything',
    paths: ['.yarnrc', '.pnpmfile.cjs', '.pnpmfile.mjs', 'bunfig.toml', '.bundle/config', '.mvn/extensions.xml', '.mvn/jvm.config'],
  },
];

/** Names at the top of the workspace: workspace files by which VS Code starts programs. */
export const protectedNamePattern = /^[^/]*\.code-workspace$/i;
