// What a server lists, as tools of ours. Everything in it was written by somebody else: names, descriptions, schemas and hints.
import { z } from 'zod';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { McpServer } from '../../contract/mcp-server.ts';
import type { ResultCheck } from '../../ports/schema.ts';
import type { AnyTool } from '../../ports/tool.ts';
import { loadChecker, maxSchemaBytes } from '../json-schema.ts';
import { plural, printable, visible } from '../text.ts';
import { resultOf } from './call-result.ts';
import type { Link } from './connection.ts';
import { type Listed, maxTools } from './list-tools.ts';
import { toolNames } from './tool-names.ts';

const maxDescription = 4_000;
const maxNesting = 32;
const maxOutputBytes = 50_000;
const maxNamed = 3;

const Raw = z.looseObject({
  name: z.string().min(1).max(1_000),
  description: z.string().optional().catch(undefined),
  inputSchema: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  annotations: z.looseObject({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() }).optional().catch(undefined),
});
type Raw = z.infer<typeof Raw>;

export interface Made {
  tools: AnyTool[];
  /** What was left out, in a few sentences. */
  problems: string[];
}

/** The tools of a server under its name. One that is malformed is left out; the others count. */
export async function makeTools(name: string, server: McpServer, listed: Listed, link: Link): Promise<Made> {
  const makeCheck = await loadChecker();
  const problems: string[] = [];
  const seen = new Set<string>();
  const sound = listed.tools.flatMap((given): { raw: Raw; inputSchema: JsonObject; check: ResultCheck }[] => {
    const raw = Raw.safeParse(given);
    const said = (given as { name?: unknown } | null)?.name;
    const shown = `\`${printable(typeof said === 'string' ? said.slice(0, 80) : 'without a name')}\``;
    const leave = (why: string) => void problems.push(`${shown} ${why}`);
    if (!raw.success) return leave('is malformed') ?? [];
    if (seen.has(raw.data.name)) return leave('is there twice') ?? [];
    seen.add(raw.data.name);
    try {
      const inputSchema = schemaOf(raw.data.inputSchema);
      return [{ raw: raw.data, inputSchema, check: makeCheck({ ...inputSchema, ...dialectOf(raw.data) }, '(arguments)') }];
    } catch (error) {
      return leave(`has a schema that cannot be used: ${printable((error as Error).message).slice(0, 200)}`) ?? [];
    }
  });
  const names = toolNames(
    name,
    sound.map(({ raw }) => raw.name),
  );
  const tools = sound.map(({ raw, inputSchema, check }, i) => toolOf({ raw, inputSchema, check, name: names[i] as string }, server, link));
  return {
    tools,
    problems: [...summed(problems), ...(listed.hasMore ? [`it has more than ${maxTools} tools; the others are left out`] : [])],
  };
}

function summed(problems: string[]): string[] {
  if (problems.length === 0) return [];
  const more = problems.length - maxNamed;
  const text = problems.slice(0, maxNamed).join('; ') + (more > 0 ? `; and ${more} more` : '');
  return [`${plural(problems.length, 'tool')} left out: ${text}`];
}

interface Sound {
  name: string;
  raw: Raw;
  inputSchema: JsonObject;
  check: ResultCheck;
}

function toolOf({ name, raw, inputSchema, check }: Sound, server: McpServer, link: Link): AnyTool {
  const readOnly = raw.annotations?.readOnlyHint === true;
  return {
    name,
    description: descriptionOf(raw),
    input: z.custom<JsonObject>().superRefine((value, context) => {
      const problem = check(value);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }),
    inputSchema,
    readOnly,
    idempotent: readOnly && raw.annotations?.idempotentHint === true,
    ...(server.timeout === undefined ? {} : { timeoutMs: Math.ceil(server.timeout * 1000) }),
    maxOutputBytes,
    subjects: (input: Json) => [sorted(input)],
    async execute(input: JsonObject, { signal }) {
      try {
        return resultOf(await link.call(raw.name, input, signal));
      } catch (error) {
        if (signal.aborted) throw error;
        return { output: `${name} failed: ${(error as Error).message}`, isError: true, taint: ['mcp'] };
      }
    },
  };
}

function descriptionOf({ name, description }: Raw): string {
  const text = visible(description ?? '').trim() || printable(name);
  return text.length > maxDescription ? `${text.slice(0, maxDescription).toWellFormed()}…` : text;
}

/** The schema as the model sees it. Throws where it is too large, too deep or not about an object. */
function schemaOf(given: JsonObject): JsonObject {
  const size = Buffer.byteLength(JSON.stringify(given));
  if (size > maxSchemaBytes) throw new Error(`it has ${size} bytes, more than ${maxSchemaBytes}`);
  if (given.type !== undefined && given.type !== 'object') throw new Error('it is not about an object');
  const { $schema: _, ...plain } = cleaned(given, 0) as JsonObject;
  return { ...plain, type: 'object' };
}

/** By which draft the schema is to be read. */
function dialectOf({ inputSchema }: Raw): JsonObject {
  return typeof inputSchema.$schema === 'string' ? { $schema: inputSchema.$schema } : {};
}

/** Texts for the model's eyes lose what a reader cannot see; names and values stay as they are. */
function cleaned(value: Json, depth: number): Json {
  if (depth > maxNesting) throw new Error(`it is nested more than ${maxNesting} deep`);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => cleaned(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isText = typeof item === 'string' && (key === 'description' || key === 'title');
      return [key.toWellFormed(), isText ? visible(item) : typeof item === 'string' ? item.toWellFormed() : cleaned(item, depth + 1)];
    }),
  );
}

/** JSON with sorted keys: the same arguments are the same subject for rules, however the model wrote them. */
function sorted(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${sorted(value[key] as Json)}`).join(',')}}`;
}
