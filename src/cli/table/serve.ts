import { type Command, ground, sandbox } from '../command.ts';
import type { Flag } from '../flags.ts';

const serverFlags: Flag[] = [
  { name: 'dialect', value: 'NAME', help: 'whose delegation tools are offered (default: native)' },
  { name: 'model', value: 'NAME', help: 'the model of delegated runs, as `provider/model`' },
  { name: 'allow', value: 'RULE', many: true, help: 'allow calls, as `tool` or `tool:pattern`' },
  { name: 'deny', value: 'RULE', many: true, help: 'deny calls; of --allow and --deny the last match counts' },
  sandbox,
  { name: 'timeout', value: 'TIME', help: 'the most for each delegated run: `90s`, `10m`; a bare number is seconds' },
  { name: 'max-turns', value: 'N', help: 'the most for each delegated run, 1 to 500' },
  { name: 'max-concurrent', value: 'N', help: 'delegated runs at work at once' },
  { name: 'max-depth', value: 'N', help: 'how deep delegation may go; 1: delegated runs do not delegate' },
  { name: 'budget-usd', value: 'USD', help: 'money for the whole connection' },
  { name: 'budget-tokens', value: 'N', help: 'tokens for the whole connection' },
  { name: 'host', value: 'PLACE', help: 'where runs execute: `inline` or `process` (default: the dialect’s own)' },
];

const installFlags: Flag[] = [
  { name: 'print', help: 'install: only print what would be written' },
  { name: 'project', help: 'install: into the project’s own file instead of the user’s' },
  { name: 'yes', short: 'y', help: 'install: do not ask' },
];

export const serveCommands: Command[] = [
  {
    name: 'mcp',
    group: 'serve',
    usage: '[flags] | install CLIENT [--print] [--project] [--yes] [flags]',
    summary: 'offer the delegation tools to an MCP client over standard input and output',
    about:
      'The client starts it and it ends with the client; what native tools delegated is paused then and can be resumed, what other dialects delegated ends. The workspace is the first of the client’s roots that is there, else the current directory; -C beats both. `install` adds it to the configuration of claude-code, codex, cursor, vscode, zed or opencode: it shows what it would write and asks. Other flags given to `install` become flags of the server.',
    flags: [...serverFlags, ...installFlags, ...ground],
    words: { min: 0, max: 2 },
    examples: [
      ['retinue mcp install claude-code', 'look, then decide'],
      ['retinue mcp install codex --model anthropic/claude-sonnet-5 --budget-usd 2', 'with a model and a budget'],
      ['retinue mcp --dialect native --timeout 10m', 'what the client runs'],
    ],
    exits: 'work',
    load: () => import('../commands/mcp.ts'),
  },
];
