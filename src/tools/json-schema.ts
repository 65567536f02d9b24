import { createContext, runInContext } from 'node:vm';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { Check } from '../ports/schema.ts';

const maxSchemaBytes = 65_536;
/** A model may write both schema and value: a pattern that never ends must not hold the process. */
const maxCheckMs = 250;

/** Checks values against a JSON Schema (2020-12). The checker is loaded only where somebody has a schema. */
export async function compileSchema(schema: JsonObject): Promise<Check> {
  if (JSON.stringify(schema).length > maxSchemaBytes)
    throw new RetinueError('invalid_brief', `result.schema is larger than ${maxSchemaBytes} bytes`);
  if (schema.type !== 'object') throw new RetinueError('invalid_brief', 'result.schema must describe an object (`"type": "object"`)');
  // Through `default`: bundled, this CommonJS module has no named exports.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
  try {
    const { $schema: _, ...plain } = schema;
    const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(plain);
    return (value) => {
      const holds = inTime(validate, value);
      if (holds === null) return `it takes longer than ${maxCheckMs} ms to check`;
      if (holds) return null;
      const problems = (validate.errors ?? [])
        .slice(0, 5)
        .map((error) => `${error.instancePath || '(result)'} ${error.message ?? 'is wrong'}`);
      return problems.join('; ');
    };
  } catch (error) {
    throw new RetinueError('invalid_brief', `result.schema is no JSON Schema: ${(error as Error).message}`, { cause: error });
  }
}

/** Null when it took too long. The context is no border of safety, only a way to stop: what runs in it is our own checker. */
function inTime(validate: (value: Json) => unknown, value: Json): boolean | null {
  try {
    return Boolean(runInContext('validate(value)', createContext({ validate, value }), { timeout: maxCheckMs }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  }
}
