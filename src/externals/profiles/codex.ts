// Codex, through the adapter of the Agent Client Protocol project. The adapter drives the user's own `codex app-server`.
import { join } from 'node:path';
import { firstText, patchToCalls } from '../tool-map.ts';
import type { Profile } from './types.ts';

export const codex: Profile = {
  name: 'codex',
  program: 'codex',
  minVersion: [0, 160, 0],
  install: 'npm install -g @openai/codex',
  adapter: { program: 'codex-acp', install: 'npm install -g @agentclientprotocol/codex-acp' },
  args: [],
  wires: ['responses'],
  folders: ['codex'],
  // The adapter declares each workspace trusted, so Codex would start the MCP servers of the configuration in it.
  closed: ['.codex'],
  env: ({ home, gate, program, isConfined }) => ({
    CODEX_PATH: program,
    // Its own sandbox cannot work inside ours.
    ...(isConfined ? { INITIAL_AGENT_MODE: 'agent-full-access' } : {}),
    ...(gate && {
      CODEX_HOME: join(home, 'codex'),
      RETINUE_GATE_TOKEN: gate.token,
      CODEX_CONFIG: JSON.stringify({
        model: gate.model,
        model_provider: 'retinue',
        model_providers: {
          retinue: {
            name: 'retinue',
            base_url: `${gate.url}/v1`,
            wire_api: 'responses',
            env_key: 'RETINUE_GATE_TOKEN',
            supports_websockets: false,
          },
        },
        approval_policy: 'on-request',
        sandbox_mode: isConfined ? 'danger-full-access' : 'workspace-write',
        check_for_update_on_startup: false,
        web_search: 'disabled',
        analytics: { enabled: false },
        features: { multi_agent: false },
      }),
    }),
  }),
  loginFolders: (home) => [join(home, '.codex')],
  tools: {
    shell: (input) => ({ tool: 'bash', args: { command: firstText(input, ['command']) } }),
    shell_command: (input) => ({ tool: 'bash', args: { command: firstText(input, ['command']) } }),
    exec_command: (input) => ({ tool: 'bash', args: { command: firstText(input, ['cmd', 'command']) } }),
    write_stdin: (input) => ({ tool: 'bash', args: { command: firstText(input, ['chars']) || ':' } }),
    apply_patch: (input, text) => patchToCalls(text || firstText(input, ['input', 'patch'])),
    view_image: (input) => ({ tool: 'read', args: { path: firstText(input, ['path']) } }),
    update_plan: 'internal',
    tool_search: 'internal',
  },
};
