import { RetinueError } from '../contract/error.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Check } from '../ports/schema.ts';

const maxSchemaBytes = 65_536;

/** Checks values against a JSON Schema (2020-12). The checker is loaded only where somebody has a schema. */
export async function compileSchema(schema: JsonObject): Promise<Check> {
  if (JSON.stringify(schema).length > maxSchemaBytes)
    throw new RetinueError('invalid_brief', `result.schema is larger than ${maxSchemaBytes} bytes`);
  if (schema.type !== 'object') throw new RetinueError('invalid_brief', 'result.schema must describe an object (`"type": "object"`)');
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  try {
    const { $schema: _, ...plain } = schema;
    const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(plain);
    return (value) => {
      if (validate(value)) return null;
      const problems = (validate.errors ?? [])
        .slice(0, 5)
        .map((error) => `${error.instancePath || '(result)'} ${error.message ?? 'is wrong'}`);
      return problems.join('; ');
    };
  } catch (error) {
    throw new RetinueError('invalid_brief', `result.schema is no JSON Schema: ${(error as Error).message}`, { cause: error });
  }
}
