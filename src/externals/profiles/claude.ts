// Claude Code, through the adapter of the Agent Client Protocol project. The adapter starts the user's own `claude`.
import { join } from 'node:path';
import { firstText, optionalText } from '../tool-map.ts';
import type { Profile } from './types.ts';

export const claude: Profile = {
  name: 'claude',
  program: 'claude',
  minVersion: [2, 1, 0],
  install: 'npm install -g @anthropic-ai/claude-code',
  adapter: { program: 'claude-agent-acp', install: 'npm install -g @agentclientprotocol/claude-agent-acp' },
  args: [],
  wires: ['messages'],
  env: ({ home, gate, program, isConfined }) => ({
    CLAUDE_CODE_EXECUTABLE: program,
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ENABLE_TOOL_SEARCH: 'false',
    ...(isConfined ? { IS_SANDBOX: '1' } : {}),
    ...(gate && {
      CLAUDE_CONFIG_DIR: join(home, 'claude'),
      ANTHROPIC_BASE_URL: gate.url,
      ANTHROPIC_API_KEY: gate.token,
      ANTHROPIC_MODEL: gate.model,
      ANTHROPIC_SMALL_FAST_MODEL: gate.model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: gate.model,
    }),
  }),
  // No settings, hooks or MCP servers of the user or of the workspace, and no subagents of its own.
  meta: { claudeCode: { options: { settingSources: [], strictMcpConfig: true, disallowedTools: ['Task', 'Agent'] } } },
  loginFolders: (home) => [join(home, '.claude'), join(home, '.claude.json')],
  tools: {
    Bash: (input) => ({ tool: 'bash', args: { command: firstText(input, ['command']) } }),
    Read: (input) => ({ tool: 'read', args: { path: firstText(input, ['file_path']) } }),
    Write: (input) => ({ tool: 'write', args: { path: firstText(input, ['file_path']), content: firstText(input, ['content']) } }),
    Edit: (input) => {
      const path = firstText(input, ['file_path']);
      const [old, text] = [firstText(input, ['old_string']), firstText(input, ['new_string'])];
      return old === '' ? { tool: 'write', args: { path, content: text } } : { tool: 'edit', args: { path, old, new: text } };
    },
    NotebookEdit: (input) => ({
      tool: 'write',
      args: { path: firstText(input, ['notebook_path']), content: firstText(input, ['new_source']) },
    }),
    Glob: (input) => ({ tool: 'glob', args: { pattern: firstText(input, ['pattern']), ...optionalText('path', input.path) } }),
    Grep: (input) => ({ tool: 'grep', args: { pattern: firstText(input, ['pattern']), ...optionalText('path', input.path) } }),
    LS: (input) => ({ tool: 'list', args: { path: firstText(input, ['path']) || '.' } }),
    WebFetch: (input) => ({ tool: 'webfetch', args: { url: firstText(input, ['url']) } }),
    WebSearch: (input) => ({ tool: 'websearch', args: { query: firstText(input, ['query']) } }),
    ...Object.fromEntries(
      [
        'TodoWrite',
        'TaskCreate',
        'TaskGet',
        'TaskList',
        'TaskUpdate',
        'ToolSearch',
        'ExitPlanMode',
        'EnterPlanMode',
        'BashOutput',
        'KillShell',
        'TaskOutput',
        'TaskStop',
      ].map((name) => [name, 'internal' as const]),
    ),
  },
};
