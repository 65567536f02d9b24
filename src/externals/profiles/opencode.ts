// opencode, which speaks ACP itself.
import { join } from 'node:path';
import { firstText, optionalText, patchToCalls } from '../tool-map.ts';
import type { Profile } from './types.ts';

const packages = { messages: '@ai-sdk/anthropic', responses: '@ai-sdk/openai', chat: '@ai-sdk/openai-compatible' } as const;

export const opencode: Profile = {
  name: 'opencode',
  program: 'opencode',
  minVersion: [1, 18, 0],
  install: 'npm install -g opencode-ai',
  args: ['acp'],
  wires: ['chat', 'messages', 'responses'],
  // A second reader of its configuration ignores the variables below and loads plugins.
  closed: ['.opencode', 'opencode.json', 'opencode.jsonc'],
  env: ({ home, gate }) => ({
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    // No configuration, plugins, tools, MCP servers or instructions of the workspace.
    OPENCODE_DISABLE_PROJECT_CONFIG: '1',
    OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
    ...(gate && {
      // With its own login, plugins of the user may be a part of that.
      OPENCODE_PURE: '1',
      XDG_DATA_HOME: join(home, 'data'),
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_STATE_HOME: join(home, 'state'),
      XDG_CACHE_HOME: join(home, 'cache'),
    }),
    // Formatters and language servers are programs that it finds in the workspace and starts without asking.
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      formatter: false,
      lsp: false,
      permission: { bash: 'ask', edit: 'ask', webfetch: 'ask', task: 'deny' },
      ...(gate && {
        model: `retinue/${gate.model}`,
        small_model: `retinue/${gate.model}`,
        provider: {
          retinue: {
            npm: packages[gate.wire],
            name: 'retinue',
            options: { baseURL: `${gate.url}/v1`, apiKey: gate.token },
            models: { [gate.model]: { name: gate.model, tool_call: true, limit: { context: 200_000, output: 16_000 } } },
          },
        },
      }),
    }),
  }),
  loginFolders: (home) => [join(home, '.local/share/opencode'), join(home, '.config/opencode')],
  tools: {
    bash: (input) => ({ tool: 'bash', args: { command: firstText(input, ['command']) } }),
    read: (input) => ({ tool: 'read', args: { path: firstText(input, ['filePath']) } }),
    write: (input) => ({ tool: 'write', args: { path: firstText(input, ['filePath']), content: firstText(input, ['content']) } }),
    edit: (input) => {
      const path = firstText(input, ['filePath']);
      const [old, text] = [firstText(input, ['oldString']), firstText(input, ['newString'])];
      return old === '' ? { tool: 'write', args: { path, content: text } } : { tool: 'edit', args: { path, old, new: text } };
    },
    apply_patch: (input, text) => patchToCalls(text || firstText(input, ['patchText', 'input'])),
    glob: (input) => ({ tool: 'glob', args: { pattern: firstText(input, ['pattern']), ...optionalText('path', input.path) } }),
    grep: (input) => ({ tool: 'grep', args: { pattern: firstText(input, ['pattern']), ...optionalText('path', input.path) } }),
    list: (input) => ({ tool: 'list', args: { path: firstText(input, ['path']) || '.' } }),
    webfetch: (input) => ({ tool: 'webfetch', args: { url: firstText(input, ['url']) } }),
    todowrite: 'internal',
    todoread: 'internal',
  },
};
