// Adapts tools written for the AI SDK (`tool({ … })`). Only the objects are used; the SDK itself is not imported.
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { SchemaCompiler } from '../ports/schema.ts';
import type { AnyTool, ToolResult } from '../ports/tool.ts';

/** The part of an AI SDK tool that is used here. */
export interface AiTool {
  description?: string | ((options: never) => string) | undefined;
  inputSchema: unknown;
  execute?: ((input: never, options: never) => unknown) | undefined;
}

/** Rejects with `unknown_tool` for an object without `execute` or without a usable schema. */
export async function aiToolToTool(name: string, tool: AiTool, compile: SchemaCompiler): Promise<AnyTool> {
  const { execute } = tool;
  if (typeof execute !== 'function')
    throw new RetinueError('unknown_tool', `the tool ${name} has no execute function; Retinue executes tools itself, so add one`);
  const { input, inputSchema } = await readInputSchema(name, tool.inputSchema, compile);
  return {
    name,
    description: typeof tool.description === 'function' ? tool.description({ context: {} } as never) : (tool.description ?? name),
    input,
    ...(inputSchema ? { inputSchema } : {}),
    readOnly: false,
    idempotent: false,
    subjects: () => [],
    async execute(given, { signal, runId }): Promise<ToolResult> {
      const value = await lastValue(
        execute(given as never, { abortSignal: signal, toolCallId: runId, messages: [], experimental_context: undefined } as never),
      );
      return { output: typeof value === 'string' ? value : JSON.stringify(value ?? null) };
    },
  };
}

/** A tool may return its output in parts; the last part is the result. */
async function lastValue(given: unknown): Promise<unknown> {
  const value = await given;
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) last = each;
  return last;
}

async function readInputSchema(
  name: string,
  given: unknown,
  compile: SchemaCompiler,
): Promise<{ input: z.ZodType; inputSchema?: JsonObject }> {
  const schema = typeof given === 'function' ? (given as () => unknown)() : given;
  if (schema instanceof z.ZodType) return { input: schema };
  if (typeof schema === 'object' && schema !== null) {
    const json = (await ('jsonSchema' in schema ? schema.jsonSchema : standardSchemaToJson(schema))) as JsonObject | undefined;
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
    `the input schema of the tool ${name} is neither a zod schema, a JSON Schema nor a Standard Schema`,
  );
}

/** Undefined if the Standard Schema cannot be converted. */
export function standardSchemaToJson(schema: object): JsonObject | undefined {
  const standard = (schema as { '~standard'?: { jsonSchema?: { input(options: { target: string }): JsonObject } } })['~standard'];
  return standard?.jsonSchema?.input({ target: 'draft-2020-12' });
}
