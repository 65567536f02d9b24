// The fields of a schema with their types, in the words of the tables of docs/library-fields.md.
import { z } from 'zod';

interface JsonSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
}

export interface Field {
  name: string;
  type: string;
  isRequired: boolean;
}

export function fieldsOf(schema: z.ZodType): Field[] {
  const { properties = {}, required = [] } = toJsonSchema(schema);
  return Object.entries(properties).map(([name, type]) => ({ name, type: describeType(type), isRequired: required.includes(name) }));
}

/** Values that only a program checks have any type: their pages say more. */
function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
}

function describeType(schema: JsonSchema): string {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map(describeType))].join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === 'array') return `list of ${plural(describeType(schema.items ?? {}))}`;
  if (schema.properties) return describeObject(schema);
  if (schema.type === 'object') return 'object';
  if (schema.type === 'integer') return 'whole number';
  if (schema.type === 'string') return 'text';
  if (Array.isArray(schema.type)) return schema.type.map((type) => describeType({ type })).join(' or ');
  return schema.type ?? 'JSON';
}

const maxListed = 6;

function describeObject({ properties = {}, required = [] }: JsonSchema): string {
  const names = Object.keys(properties);
  if (names.length > maxListed) return 'object';
  return `\`{${names.map((name) => (required.includes(name) ? name : `${name}?`)).join(', ')}}\``;
}

function plural(type: string): string {
  return type === 'text' ? 'texts' : type;
}
