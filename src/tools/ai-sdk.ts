// Adapts tools written for the AI SDK (`tool({ … })`). Only the objects are used; the SDK itself is not imported.
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { SchemaCompiler } from '../ports/schema.ts';
import type { AnyTool, ToolResult } from '../ports/tool.ts';
import { isStandardSchema, isZod4, type SchemaIssue, standardSchemaToJson } from './program-schema.ts';

/** The part of an AI SDK tool that is used here. */
export interface AiTool {
  description?: string | ((options: never) => string) | undefined;
  inputSchema: unknown;
  execute?: ((input: never, options: never) => unknown) | undefined;
  /** Calls wait for approval as if a rule said `ask`. */
  needsApproval?: boolean | ((input: never, options: never) => unknown) | undefined;
  toModelOutput?: ((options: never) => unknown) | undefined;
}

/** Rejects with `unknown_tool` for an object without `execute` or without a usable schema. */
export async function aiToolToTool(name: string, tool: AiTool, compile: SchemaCompiler): Promise<AnyTool> {
  const { execute, needsApproval = false } = tool;
  if (typeof execute !== 'function')
    throw new RetinueError('unknown_tool', `the tool ${name} has no execute function; Retinue executes tools itself, so add one`);
  const { input, inputSchema } = await readInputSchema(name, tool.inputSchema, compile);
  return {
    name,
    description: typeof tool.description === 'function' ? tool.description({ context: {} } as never) : (tool.description ?? name),
    ...{ input, inputSchema },
    hasAsyncInput: true,
    readOnly: false,
    idempotent: false,
    ...(needsApproval === false ? {} : { needsApproval: createApprovalCheck(name, needsApproval) }),
    subjects: () => [],
    async execute(given, { signal, callId: toolCallId }): Promise<ToolResult> {
      const options = { abortSignal: signal, toolCallId, messages: [], context: undefined, experimental_context: undefined };
      const output = await lastValue(execute(given as never, options as never));
      const { toModelOutput } = tool;
      if (toModelOutput) return modelOutputToResult(await toModelOutput({ toolCallId, input: given, output } as never));
      return { output: typeof output === 'string' ? output : JSON.stringify(output ?? null) };
    },
  };
}

function createApprovalCheck(name: string, given: NonNullable<AiTool['needsApproval']>): NonNullable<AnyTool['needsApproval']> {
  return async (input, { callId: toolCallId }) => {
    if (typeof given !== 'function') return Boolean(given);
    const options = {
      ...{ toolCallId, context: undefined, experimental_context: undefined },
      get messages(): never {
        throw new Error(`\`needsApproval\` of the tool ${name} reads \`messages\`, which are not available`);
      },
    };
    return Boolean(await given(input as never, options as never));
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

type ModelOutput = { type?: unknown; value?: unknown; reason?: unknown } | null | undefined;

/** Throws for a form that a result cannot have. The tool has been executed then, and the message says so. */
function modelOutputToResult(given: unknown): ToolResult {
  const { type, value, reason } = (given as ModelOutput) ?? {};
  if (type === 'text' || type === 'error-text') return { output: String(value), isError: type === 'error-text' };
  if (type === 'json' || type === 'error-json') return { output: JSON.stringify(value ?? null), isError: type === 'error-json' };
  if (type === 'execution-denied') return { output: typeof reason === 'string' ? reason : 'the tool refused this call', isError: true };
  if (type === 'content' && Array.isArray(value)) return { output: value.map(partToText).join('\n') };
  throw new Error(`it was executed, but \`toModelOutput\` returned ${describeType(type)}, which is no form of output that Retinue knows`);
}

function partToText(part: { type?: unknown; text?: unknown }): string {
  if (part?.type === 'text' && typeof part.text === 'string') return part.text;
  throw new Error(`it was executed, but \`toModelOutput\` returned a part of ${describeType(part?.type)}; only text can be passed on`);
}

function describeType(type: unknown): string {
  return typeof type === 'string' ? `type \`${type}\`` : 'no type';
}

interface InputSchema {
  input: z.ZodType;
  inputSchema: JsonObject;
}

async function readInputSchema(name: string, schema: unknown, compile: SchemaCompiler): Promise<InputSchema> {
  if (isSdkSchema(schema)) return readSdkSchema(schema, compile);
  if (isStandardSchema(schema)) {
    const converted = standardSchemaToJson(schema);
    if (!('json' in converted))
      throw new RetinueError(
        'unknown_tool',
        `the tool ${name}: inputSchema${converted.path && `.${converted.path}`}: ${converted.problem}`,
      );
    const { validate } = schema['~standard'];
    if (!isZod4(schema)) return { input: validatorToZod(async (value) => validate(value)), inputSchema: converted.json };
    const { $schema: _, ...inputSchema } = converted.json;
    return { input: schema, inputSchema };
  }
  if (typeof schema === 'function') return readInputSchema(name, schema(), compile);
  throw new RetinueError(
    'unknown_tool',
    `the input schema of the tool ${name} is neither a zod schema, a Standard Schema nor a result of \`jsonSchema()\` of the AI SDK`,
  );
}

/** What `jsonSchema()` and `zodSchema()` of the AI SDK return. */
interface SdkSchema {
  jsonSchema: unknown;
  validate?: (value: unknown) => unknown;
}

function isSdkSchema(schema: unknown): schema is SdkSchema {
  return typeof schema === 'object' && schema !== null && 'jsonSchema' in schema;
}

/** A schema without a validator is checked as a JSON Schema. */
async function readSdkSchema(schema: SdkSchema, compile: SchemaCompiler): Promise<InputSchema> {
  const inputSchema = (await schema.jsonSchema) as JsonObject;
  if (typeof schema.validate !== 'function') {
    const check = await compile(inputSchema);
    const validate = (value: unknown) => {
      const problem = check(value as Json);
      return problem === null ? { value } : { issues: [{ message: problem }] };
    };
    return { input: validatorToZod(async (value) => validate(value)), inputSchema };
  }
  const input = validatorToZod(async (value) => {
    const validated = (await schema.validate?.(value)) as { success: true; value: unknown } | { success: false; error: unknown };
    return validated.success ? { value: validated.value } : { issues: errorToIssues(validated.error) };
  });
  return { input, inputSchema };
}

/** Validators that are made of another schema pass its issues on. */
function errorToIssues(error: unknown): readonly SchemaIssue[] {
  const { issues, message } = (error ?? {}) as { issues?: unknown; message?: unknown };
  if (Array.isArray(issues) && issues.length > 0) return issues as SchemaIssue[];
  return [{ message: typeof message === 'string' ? message : String(error) }];
}

function validatorToZod(validate: (value: unknown) => Promise<{ value: unknown } | { issues: readonly SchemaIssue[] }>): z.ZodType {
  return z.unknown().transform(async (given, context) => {
    const validated = await validate(given);
    if (!('issues' in validated) || !validated.issues) return (validated as { value: unknown }).value;
    for (const { message, path = [] } of validated.issues)
      context.addIssue({ code: 'custom', message, path: path.map((step) => (typeof step === 'object' ? step.key : step)) });
    return z.NEVER;
  });
}
