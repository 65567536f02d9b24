// Turns the tools that a server lists into tools of Retinue. Names, descriptions, schemas and hints are untrusted input.
import { z } from 'zod';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { McpServer } from '../../contract/mcp-server.ts';
import type { ResultCheck } from '../../ports/schema.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { canonical } from '../../text/canonical.ts';
import { cleanText } from '../../text/cut.ts';
import { loadChecker, maxSchemaBytes } from '../json-schema.ts';
import { escapeControls, formatCount } from '../text.ts';
import { callResultToToolResult } from './call-result.ts';
import type { McpConnection } from './connection.ts';
import { maxTools, type ToolListing } from './list-tools.ts';
import { assignToolNames } from './tool-names.ts';

const maxDescription = 4_000;
const maxNesting = 32;
const maxOutputBytes = 50_000;
const maxNamed = 3;

const ListedTool = z.looseObject({
  name: z.string().min(1).max(1_000),
  description: z.string().optional().catch(undefined),
  inputSchema: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  annotations: z.looseObject({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() }).optional().catch(undefined),
});
type ListedTool = z.infer<typeof ListedTool>;

export interface ServerTools {
  tools: AnyTool[];
  /** Which tools were left out and why. */
  problems: string[];
}

/** Malformed tools are left out; the others are used. */
export async function createServerTools(
  name: string,
  server: McpServer,
  listing: ToolListing,
  connection: McpConnection,
): Promise<ServerTools> {
  const compile = await loadChecker();
  const problems: string[] = [];
  const seen = new Set<string>();
  const valid = listing.tools.flatMap((given): { raw: ListedTool; inputSchema: JsonObject; check: ResultCheck }[] => {
    const raw = ListedTool.safeParse(given);
    const givenName = (given as { name?: unknown } | null)?.name;
    const shown = `\`${escapeControls(typeof givenName === 'string' ? givenName.slice(0, 80) : 'without a name')}\``;
    const leaveOut = (why: string): [] => {
      problems.push(`${shown} ${why}`);
      return [];
    };
    if (!raw.success) return leaveOut('is malformed');
    if (seen.has(raw.data.name)) return leaveOut('is listed twice');
    seen.add(raw.data.name);
    try {
      const inputSchema = cleanSchema(raw.data.inputSchema);
      return [{ raw: raw.data, inputSchema, check: compile({ ...inputSchema, ...schemaDraft(raw.data) }, '(arguments)') }];
    } catch (error) {
      return leaveOut(`has a schema that cannot be used: ${escapeControls((error as Error).message).slice(0, 200)}`);
    }
  });
  const names = assignToolNames(
    name,
    valid.map(({ raw }) => raw.name),
  );
  const tools = valid.map(({ raw, inputSchema, check }, i) =>
    createTool({ raw, inputSchema, check, name: names[i] as string }, server, connection),
  );
  return {
    tools,
    problems: [...summarizeProblems(problems), ...(listing.hasMore ? [`it has more than ${maxTools} tools; the others are left out`] : [])],
  };
}

function summarizeProblems(problems: string[]): string[] {
  if (problems.length === 0) return [];
  const more = problems.length - maxNamed;
  const text = problems.slice(0, maxNamed).join('; ') + (more > 0 ? `; and ${more} more` : '');
  return [`${formatCount(problems.length, 'tool')} left out: ${text}`];
}

interface ValidTool {
  name: string;
  raw: ListedTool;
  inputSchema: JsonObject;
  check: ResultCheck;
}

function createTool({ name, raw, inputSchema, check }: ValidTool, server: McpServer, connection: McpConnection): AnyTool {
  const readOnly = raw.annotations?.readOnlyHint === true;
  return {
    name,
    description: cleanDescription(raw),
    input: z.custom<JsonObject>().superRefine((value, context) => {
      const problem = check(value);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }),
    inputSchema,
    readOnly,
    idempotent: readOnly && raw.annotations?.idempotentHint === true,
    ...(server.timeout === undefined ? {} : { timeoutMs: Math.ceil(server.timeout * 1000) }),
    maxOutputBytes,
    // Sorted keys, so that rules see the same subject however the model wrote the arguments.
    subjects: (input: Json) => [canonical(input)],
    async execute(input: JsonObject, { signal }) {
      try {
        return callResultToToolResult(await connection.call(raw.name, input, signal));
      } catch (error) {
        if (signal.aborted) throw error;
        return { output: `${name} failed: ${(error as Error).message}`, isError: true, taint: ['mcp'] };
      }
    },
  };
}

function cleanDescription({ name, description }: ListedTool): string {
  const text = cleanText(description ?? '').trim() || escapeControls(name);
  return text.length > maxDescription ? `${text.slice(0, maxDescription).toWellFormed()}…` : text;
}

/** The schema as the model sees it. Throws if it is too large, too deep or not for an object. */
function cleanSchema(given: JsonObject): JsonObject {
  const size = Buffer.byteLength(JSON.stringify(given));
  if (size > maxSchemaBytes) throw new Error(`it has ${size} bytes, more than ${maxSchemaBytes}`);
  if (given.type !== undefined && given.type !== 'object') throw new Error('it does not describe an object');
  const { $schema: _, ...plain } = cleanTexts(given, 0) as JsonObject;
  return { ...plain, type: 'object' };
}

/** The `$schema` field, which names the draft; it is not shown to the model. */
function schemaDraft({ inputSchema }: ListedTool): JsonObject {
  return typeof inputSchema.$schema === 'string' ? { $schema: inputSchema.$schema } : {};
}

/** Removes invisible characters from descriptions and titles; names and values stay as they are. */
function cleanTexts(value: Json, depth: number): Json {
  if (depth > maxNesting) throw new Error(`it is nested more than ${maxNesting} deep`);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => cleanTexts(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isText = typeof item === 'string' && (key === 'description' || key === 'title');
      return [key.toWellFormed(), isText ? cleanText(item) : typeof item === 'string' ? item.toWellFormed() : cleanTexts(item, depth + 1)];
    }),
  );
}
