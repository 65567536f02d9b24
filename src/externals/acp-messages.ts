// What an external agent sends over the Agent Client Protocol (version 1). Unknown keys are ignored: agents may be newer.
import { z } from 'zod';

const text = z.string();

export const InitializeResponse = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().nullish(),
      sessionCapabilities: z.object({ resume: z.unknown().optional() }).nullish(),
    })
    .nullish(),
  agentInfo: z.object({ name: text, version: text }).partial().nullish(),
});
export type InitializeResponse = z.infer<typeof InitializeResponse>;

export const NewSessionResponse = z.object({ sessionId: text.min(1).max(500) });

const count = z.number().nullish();
export const PromptResponse = z.object({
  stopReason: z.enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled']),
  usage: z.object({ inputTokens: count, outputTokens: count, cachedReadTokens: count, thoughtTokens: count }).nullish().catch(null),
});
export type PromptResponse = z.infer<typeof PromptResponse>;

const Content = z.union([
  z.object({ type: z.literal('content'), content: z.object({ type: text, text: text.optional() }) }),
  z.object({ type: z.literal('diff'), path: text, oldText: text.nullish(), newText: text }),
  z.object({ type: text }),
]);

export const ToolCall = z.object({
  toolCallId: text,
  name: text.nullish(),
  title: text.nullish(),
  kind: text.nullish(),
  status: text.nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.array(Content).nullish(),
  _meta: z.record(text, z.unknown()).nullish(),
});
export type ToolCall = z.infer<typeof ToolCall>;

const TextChunk = z.object({ content: z.object({ type: text, text: text.optional() }) });

export const SessionUpdate = z.object({
  update: z.union([
    TextChunk.extend({ sessionUpdate: z.enum(['agent_message_chunk', 'agent_thought_chunk']) }),
    ToolCall.extend({ sessionUpdate: z.enum(['tool_call', 'tool_call_update']) }),
    z.object({ sessionUpdate: text }),
  ]),
});

export const PermissionRequest = z.object({
  toolCall: ToolCall,
  options: z.array(z.object({ optionId: text, kind: text, name: text.nullish() })),
});
export type PermissionRequest = z.infer<typeof PermissionRequest>;
