// The parts of the Agent Client Protocol (version 1) that Retinue uses. What the client sends is parsed with these schemas, which ignore
// unknown keys: clients may be newer.
import { isAbsolute } from 'node:path';
import { z } from 'zod';

export const protocolVersion = 1;

const text = z.string();
const sessionId = z.string().min(1).max(200);
const folder = text.refine(isAbsolute, 'must be an absolute path');

const NameAndValue = z.object({ name: text, value: text });
/** A server without a type is started as a command. */
export const ClientMcpServer = z.union([
  z.object({ type: z.enum(['http', 'sse']), name: text, url: text, headers: z.array(NameAndValue).default([]) }),
  z.object({
    type: z.literal('stdio').optional(),
    name: text,
    command: text,
    args: z.array(text).default([]),
    env: z.array(NameAndValue).default([]),
  }),
]);
export type ClientMcpServer = z.infer<typeof ClientMcpServer>;

export const Initialize = z.object({
  protocolVersion: z.int().min(0).max(65_535),
  clientCapabilities: z
    .object({ session: z.object({ notices: z.unknown() }).partial().nullish() })
    .partial()
    .nullish(),
  clientInfo: z.object({ name: text, version: text }).partial().nullish(),
});

const setup = {
  cwd: folder,
  mcpServers: z.array(ClientMcpServer).max(100),
  additionalDirectories: z.array(folder).max(100).nullish(),
};
export const NewSession = z.object(setup);
export type NewSession = z.infer<typeof NewSession>;
export const LoadSession = z.object({ ...setup, sessionId });
export const ResumeSession = z.object({ ...setup, mcpServers: setup.mcpServers.nullish(), sessionId });
export const ListSessions = z.object({ cwd: folder.nullish(), cursor: text.max(5000).nullish() });
export const SessionRef = z.object({ sessionId });
export const SetMode = z.object({ sessionId, modeId: text });
export const SetConfigOption = z.object({ sessionId, configId: text, value: text });
export const Authenticate = z.object({ methodId: text });

/** Other types of blocks are refused with a sentence that names them. */
export const PromptBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text }),
  z.object({ type: z.literal('resource_link'), uri: text, name: text }),
  z.object({
    type: z.literal('resource'),
    resource: z.union([
      z.object({ uri: text, text, mimeType: text.nullish() }),
      z.object({ uri: text, blob: text, mimeType: text.nullish() }),
    ]),
  }),
  z.object({ type: z.literal('image'), data: text, mimeType: text }),
  z.object({ type: z.literal('audio') }),
]);
export type PromptBlock = z.infer<typeof PromptBlock>;
export const Prompt = z.object({ sessionId, prompt: z.array(PromptBlock).min(1).max(10_000) });

export const PermissionResponse = z.object({
  outcome: z.union([z.object({ outcome: z.literal('cancelled') }), z.object({ outcome: z.literal('selected'), optionId: text })]),
});

export type ToolKind = 'read' | 'edit' | 'search' | 'execute' | 'think' | 'fetch' | 'other';
export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';
export interface TextBlock {
  type: 'text';
  text: string;
}
export type ToolContent =
  | { type: 'content'; content: TextBlock }
  /** `oldText` is null for a new file. */
  | { type: 'diff'; path: string; oldText: string | null; newText: string };
export interface ToolLocation {
  path: string;
  line?: number;
}
export interface ToolFields {
  title?: string;
  name?: string;
  kind?: ToolKind;
  status?: ToolStatus;
  content?: ToolContent[];
  locations?: ToolLocation[];
  rawInput?: unknown;
}
export interface PlanEntry {
  content: string;
  priority: 'high' | 'medium' | 'low';
  status: 'pending' | 'in_progress' | 'completed';
}

export type SessionUpdate =
  | { sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk'; content: TextBlock; messageId: string }
  | ({ sessionUpdate: 'tool_call'; toolCallId: string; title: string } & ToolFields)
  | ({ sessionUpdate: 'tool_call_update'; toolCallId: string } & ToolFields)
  | { sessionUpdate: 'plan'; entries: PlanEntry[] }
  | { sessionUpdate: 'usage_update'; used: number; size: number; cost?: { amount: number; currency: 'USD' } }
  | { sessionUpdate: 'current_mode_update'; currentModeId: string }
  | { sessionUpdate: 'config_option_update'; configOptions: ConfigOption[] }
  | { sessionUpdate: 'session_info_update'; title?: string; updatedAt?: string }
  | { sessionUpdate: 'notice'; severity: 'info' | 'warning' | 'error'; title: string };

export interface SessionMode {
  id: string;
  name: string;
  description: string;
}
export interface ModeState {
  currentModeId: string;
  availableModes: SessionMode[];
}

export interface ConfigOption {
  id: string;
  name: string;
  category: string;
  type: 'select';
  currentValue: string;
  options: { value: string; name: string; description?: string }[];
}
/** What a session offers to choose. */
export interface SessionChoices {
  modes: ModeState;
  configOptions: ConfigOption[];
}

export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled';
export interface PromptResult {
  stopReason: StopReason;
  _meta?: Record<string, unknown>;
}

export interface SessionInfo {
  sessionId: string;
  cwd: string;
  title: string;
  updatedAt: string;
}
