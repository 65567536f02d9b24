// Schemas of the embedding program, by the interfaces that libraries share: zod 4, Standard Schema, and `jsonSchema()` of the AI SDK.
import { z } from 'zod';
import type { JsonObject } from '../contract/json.ts';

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type Validated<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

/** Standard Schema: the common interface of zod, valibot, arktype and others. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<T> | Promise<Validated<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

export function isStandardSchema(value: unknown): value is StandardSchema<unknown> {
  // Schemas of some libraries are callable.
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}

/** What a schema accepts, as a JSON Schema; or the part of it that JSON Schema cannot express, and why. */
export function standardSchemaToJson(schema: StandardSchema<unknown>): { json: JsonObject } | { path: string; problem: string } {
  const standard = schema['~standard'] as StandardSchema<unknown>['~standard'] & {
    jsonSchema?: { input(options: { target: string }): JsonObject };
  };
  try {
    if (isZod4(schema)) return { json: z.toJSONSchema(schema, { io: 'input' }) as JsonObject };
    if (standard.jsonSchema) return { json: standard.jsonSchema.input({ target: 'draft-2020-12' }) };
  } catch (error) {
    return { path: isZod4(schema) ? findInexpressible(schema) : '', problem: (error as Error).message };
  }
  if (standard.vendor === 'zod')
    return { path: '', problem: 'schemas of zod 3 cannot be converted to JSON Schema; use zod 4, which the package `zod` has as `zod/v4`' };
  return { path: '', problem: `this schema of ${standard.vendor} cannot be converted to JSON Schema` };
}

/** Also of zod/mini, and of another copy of zod. */
export function isZod4(schema: object): schema is z.ZodType {
  return '_zod' in schema;
}

const inexpressible = new Set(['bigint', 'symbol', 'undefined', 'void', 'date', 'map', 'set', 'nan', 'function', 'custom', 'transform']);

/** The path of the first part that JSON Schema cannot express. */
function findInexpressible(schema: z.ZodType): string {
  let found: string | null = null;
  z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, path }) => {
      if (!inexpressible.has(zodSchema._zod.def.type)) return;
      const location = path.filter((step) => step !== 'properties').map((step) => (step === 'items' ? '[]' : String(step)));
      found ??= location.join('.');
    },
  });
  return found ?? '';
}

export function issueText({ path = [], message }: SchemaIssue): string {
  const location = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return location === '' ? message : `${location}: ${message}`;
}
