// Adds `retinue acp` to the configuration of an editor. The files are changed like those of MCP clients (mcp-install/).
import type { ServerCommand } from '../mcp-install/clients.ts';
import { createServerCommand, type InstallContext, type McpInstallation, planFile } from '../mcp-install/install.ts';
import { type AcpEditor, editorFiles } from './editors.ts';

export interface AcpInstallRequest {
  editor: AcpEditor;
  /** Flags for the agent's command. */
  flags: string[];
}

/** `instructions`: for an editor whose configuration is never written. */
export type AcpInstallation = { kind: 'file'; plan: McpInstallation } | { kind: 'instructions'; text: string; server: ServerCommand };

/** Throws `invalid_config` or `usage`. */
export function planAcpInstall({ editor, flags }: AcpInstallRequest, context: InstallContext): AcpInstallation {
  const server = createServerCommand('acp', { flags, variables: [] }, context);
  if (editor === 'neovim') return { kind: 'instructions', text: describeNeovim(server), server };
  const { file, format } = editorFiles[editor];
  return { kind: 'file', plan: planFile(editor, { file: file(context.env), format, server }) };
}

function describeNeovim({ command, args }: ServerCommand): string {
  const parts = [command, ...args].map(toLua);
  return `-- CodeCompanion.nvim: pass this table to require("codecompanion").setup
{
  adapters = {
    acp = {
      retinue = function()
        return require("codecompanion.adapters").extend("gemini_cli", {
          name = "retinue",
          formatted_name = "Retinue",
          commands = { default = { ${parts.join(', ')} } },
          defaults = { mcpServers = {}, timeout = 20000 },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "retinue" } },
}

-- avante.nvim: pass this table to require("avante").setup
{
  provider = "retinue",
  acp_providers = { retinue = { command = ${parts[0]}, args = { ${parts.slice(1).join(', ')} } } },
}
`;
}

/** Strings of Lua escape like those of JSON, except for other control characters, which paths and flags do not have. */
function toLua(text: string): string {
  return JSON.stringify(text);
}
