// Checks values against JSON Schemas, for results of runs and arguments of MCP tools.
import { createContext, runInContext } from 'node:vm';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { ResultCheck } from '../ports/schema.ts';

export const maxSchemaBytes = 65_536;
/** A model may write both schema and value, so a check must not block the process for long. */
const maxCheckMs = 250;
/** On a busy machine the time may pass without the checker running; then the check is repeated. */
const maxTries = 4;

/** For a JSON Schema of draft 2020-12, or an older draft that it names. Rejects with `invalid_brief`. The checker is loaded on first use. */
export async function compileSchema(schema: JsonObject): Promise<ResultCheck> {
  if (JSON.stringify(schema).length > maxSchemaBytes)
    throw new RetinueError('invalid_brief', `result.schema is larger than ${maxSchemaBytes} bytes`);
  if (schema.type !== 'object') throw new RetinueError('invalid_brief', 'result.schema must describe an object (`"type": "object"`)');
  try {
    return (await loadChecker())(schema, '(result)');
  } catch (error) {
    throw new RetinueError('invalid_brief', `result.schema is not a valid JSON Schema: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Returns a function that compiles schemas; it throws for an invalid schema. `whole` names the value itself in messages. Creating an instance takes longer
 * than compiling most schemas, so schemas share one, except those with names of their own, which could collide.
 */
export async function loadChecker(): Promise<(schema: JsonObject, whole: string) => ResultCheck> {
  // Through `default`: bundled, these CommonJS modules have no named exports.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
  const { Ajv } = (await import('ajv')).default;
  const options = { strict: false, allErrors: true, validateFormats: false, addUsedSchema: false };
  const create = { old: () => new Ajv(options), new: () => new Ajv2020(options) };
  const shared = { old: once(create.old), new: once(create.new) };
  return ({ $schema, ...plain }, whole) => {
    const draft = typeof $schema === 'string' && /draft-0[4-7]/.test($schema) ? 'old' : 'new';
    const isNamed = /"\$(id|anchor|dynamicAnchor)"/.test(JSON.stringify(plain));
    const validate = (isNamed ? create : shared)[draft]().compile(plain);
    return (value) => {
      const isValid = runWithTimeout(validate, value);
      if (isValid === null) return `it takes longer than ${maxCheckMs} ms to check`;
      if (isValid) return null;
      const problems = (validate.errors ?? []).slice(0, 5).map((error) => `${error.instancePath || whole} ${error.message ?? 'is wrong'}`);
      return problems.join('; ');
    };
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Null if it took too long. The VM context is only a way to stop the check, not a security boundary: our own checker runs in it. */
function runWithTimeout(validate: (value: Json) => unknown, value: Json): boolean | null {
  for (let tries = 1; ; tries++) {
    const before = process.cpuUsage();
    try {
      return Boolean(runInContext('validate(value)', createContext({ validate, value }), { timeout: maxCheckMs }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    }
    const { user, system } = process.cpuUsage(before);
    if (tries === maxTries || user + system > (maxCheckMs * 1000) / 2) return null;
  }
}
