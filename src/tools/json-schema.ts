import { createContext, runInContext } from 'node:vm';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { ResultCheck } from '../ports/schema.ts';

export const maxSchemaBytes = 65_536;
/** A model may write both schema and value: a pattern that never ends must not hold the process. */
const maxCheckMs = 250;
/** On a machine with much to do the time may pass without the checker being at work: then it is tried again. */
const maxTries = 4;

/** Checks values against a JSON Schema (2020-12, or an older draft where it says so). The checker is loaded only where somebody has a schema. */
export async function compileSchema(schema: JsonObject): Promise<ResultCheck> {
  if (JSON.stringify(schema).length > maxSchemaBytes)
    throw new RetinueError('invalid_brief', `result.schema is larger than ${maxSchemaBytes} bytes`);
  if (schema.type !== 'object') throw new RetinueError('invalid_brief', 'result.schema must describe an object (`"type": "object"`)');
  try {
    return (await loadChecker())(schema, '(result)');
  } catch (error) {
    throw new RetinueError('invalid_brief', `result.schema is no JSON Schema: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Makes checks of JSON Schemas; `whole` names the value itself in what a check says. Throws where a schema is none. To make an instance takes
 * longer than to compile most schemas, so they share one; those that name themselves must not meet there.
 */
export async function loadChecker(): Promise<(schema: JsonObject, whole: string) => ResultCheck> {
  // Through `default`: bundled, these CommonJS modules have no named exports.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
  const { Ajv } = (await import('ajv')).default;
  const options = { strict: false, allErrors: true, validateFormats: false, addUsedSchema: false };
  const makers = { old: () => new Ajv(options), new: () => new Ajv2020(options) };
  const shared = { old: once(makers.old), new: once(makers.new) };
  return ({ $schema, ...plain }, whole) => {
    const draft = typeof $schema === 'string' && /draft-0[4-7]/.test($schema) ? 'old' : 'new';
    const isNamed = /"\$(id|anchor|dynamicAnchor)"/.test(JSON.stringify(plain));
    const validate = (isNamed ? makers : shared)[draft]().compile(plain);
    return (value) => {
      const holds = inTime(validate, value);
      if (holds === null) return `it takes longer than ${maxCheckMs} ms to check`;
      if (holds) return null;
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

/** Null when it took too long. The context is no border of safety, only a way to stop: what runs in it is our own checker. */
function inTime(validate: (value: Json) => unknown, value: Json): boolean | null {
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
