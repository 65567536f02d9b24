// The `result` of a brief in the library: a result form, or a schema that also types `outcome.data`.
import type { ResultForm } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ProgramCheck } from '../ports/schema.ts';
import { issueText, type StandardSchema, standardSchemaToJson } from '../tools/program-schema.ts';

export type { StandardSchema } from '../tools/program-schema.ts';

export interface WantedResult<T> {
  form: ResultForm | undefined;
  /** Checks what JSON Schema cannot express, such as refinements. It runs while the agent works, so that the model can repair the result. */
  check: ProgramCheck | undefined;
  /** Gives the outcome the value of the schema. What the schema does not accept is no result: the outcome is a failure then. */
  typeOutcome(outcome: Outcome): Promise<Omit<Outcome, 'data'> & { data?: T }>;
}

/** `mustBeSync`: the caller may run again from its recorded steps, whose order a validator that waits could change. */
export function parseWantedResult<T>(
  result: ResultForm | StandardSchema<T> | undefined,
  { mustBeSync = false }: { mustBeSync?: boolean } = {},
): WantedResult<T> {
  if (result === undefined || !('~standard' in result))
    return { form: result, check: undefined, typeOutcome: async (outcome) => outcome as never };
  const { validate } = result['~standard'];
  return {
    form: { schema: resultToJsonSchema(result) },
    async check(value) {
      // What flows do not support is the program's mistake: `typeOutcome` says so, and the model is not told to correct it.
      const validated = validate(value);
      const { issues } = mustBeSync && validated instanceof Promise ? {} : await validated;
      return issues ? issues.map(issueText).join('; ') : null;
    },
    async typeOutcome(outcome) {
      const { data, ...rest } = outcome;
      if (data === undefined) return rest;
      const validating = validate(data);
      if (mustBeSync && validating instanceof Promise)
        throw new RetinueError('usage', 'result: the checks of this schema are asynchronous, which flows do not support');
      const validated = await validating;
      if (!validated.issues) return { ...outcome, data: validated.value };
      if (!outcome.success) return rest;
      const message = `the result does not match its schema: ${validated.issues.map(issueText).join('; ')}`;
      return { ...rest, status: 'failed', success: false, error: { code: 'result_invalid', message, retryable: false } };
    },
  };
}

function resultToJsonSchema(schema: StandardSchema<unknown>): JsonObject {
  const converted = standardSchemaToJson(schema);
  if ('json' in converted) return converted.json;
  const field = converted.path === '' ? 'result' : `result.${converted.path}`;
  throw new RetinueError('invalid_brief', `${field}: ${converted.problem}; or pass a JSON Schema as \`{ schema: … }\``);
}
