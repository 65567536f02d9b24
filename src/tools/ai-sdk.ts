// Tools of the AI SDK (`tool({ … })`) as tools of ours. Only what such an object carries is used; the SDK itself is not imported.
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { SchemaCompiler } from '../ports/schema.ts';
import type { AnyTool, ToolResult } from '../ports/tool.ts';

/** The part of an AI SDK tool that counts here. */
export interface AiTool {
  description?: string | ((options: never) => string) | undefined;
  inputSchema: unknown;
  execute?: ((input: never, options: never) => unknown) | undefined;
}

/** Rejects with `unknown_tool` for an object that cannot be executed or whose schema is none. */
export async function fromAiTool(name: string, tool: AiTool, compile: SchemaCompiler): Promise<AnyTool> {
  const { execute } = tool;
  if (typeof execute !== 'function')
    throw new RetinueError('unknown_tool', `the tool ${name} has no execute: Retinue runs its tools itself`);
  const { input, inputSchema } = await schemaOf(name, tool.inputSchema, compile);
  return {
    name,
    description: typeof tool.description === 'function' ? tool.description({ context: {} } as never) : (tool.description ?? name),
    input,
    ...(inputSchema ? { inputSchema } : {}),
    readOnly: false,
    idempotent: false,
    subjects: () => [],
    async execute(given, { signal, runId }): Promise<ToolResult> {
      const value = await lastOf(
        execute(given as never, { abortSignal: signal, toolCallId: runId, messages: [], experimental_context: undefined } as never),
      );
      return { output: typeof value === 'string' ? value : JSON.stringify(value ?? null) };
    },
  };
}

/** A tool may give its output in pieces; the last one counts. */
async function lastOf(given: unknown): Promise<unknown> {
  const value = await given;
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) last = each;
  return last;
}

async function schemaOf(name: string, given: unknown, compile: SchemaCompiler): Promise<{ input: z.ZodType; inputSchema?: JsonObject }> {
  const schema = typeof given === 'function' ? (given as () => unknown)() : given;
  if (schema instanceof z.ZodType) return { input: schema };
  if (typeof schema === 'object' && schema !== null) {
    const json = (await ('jsonSchema' in schema ? schema.jsonSchema : jsonOf(schema))) as JsonObject | undefined;
    if (json) {
      const check = await compile(json);
      const input = z.custom<Json>().superRefine((value, context) => {
        const problem = check(value);
        if (problem !== null) context.addIssue({ code: 'custom', message: problem });
      });
      return { input, inputSchema: json };
    }
  }
  throw new RetinueError(
    'unknown_tool',
    `the input schema of the tool ${name} is neither a zod schema, a JSON Schema nor a standard schema`,
  );
}

/** The JSON Schema of a standard schema that can give one. */
export function jsonOf(schema: object): JsonObject | undefined {
  const standard = (schema as { '~standard'?: { jsonSchema?: { input(options: { target: string }): JsonObject } } })['~standard'];
  return standard?.jsonSchema?.input({ target: 'draft-2020-12' });
}
