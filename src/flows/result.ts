// The `result` of a brief in the library: a result form, or a schema that also types `outcome.data`.
import { z } from 'zod';
import type { ResultForm } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ResultCheck } from '../ports/schema.ts';
import { standardSchemaToJson } from '../tools/ai-sdk.ts';

type Issue = { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined };
type Validated<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Standard Schema: the common interface of zod, valibot, arktype and others. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<T> | Promise<Validated<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

export interface WantedResult<T> {
  form: ResultForm | undefined;
  /** Checks what JSON Schema cannot express, such as refinements. It runs while the agent works, so that the model can repair the result. */
  check: ResultCheck | undefined;
  typeOutcome(outcome: Outcome): Promise<Omit<Outcome, 'data'> & { data?: T }>;
}

export function parseWantedResult<T>(result: ResultForm | StandardSchema<T> | undefined): WantedResult<T> {
  if (result === undefined || !('~standard' in result))
    return { form: result, check: undefined, typeOutcome: async (outcome) => outcome as never };
  const { validate } = result['~standard'];
  return {
    form: { schema: toJsonSchema(result) },
    check: (value) => {
      const checked = validate(value);
      return checked instanceof Promise || !checked.issues ? null : checked.issues.map(issueText).join('; ');
    },
    async typeOutcome(outcome) {
      if (outcome.data === undefined) return outcome as never;
      const checked = await validate(outcome.data);
      return checked.issues ? (outcome as never) : { ...outcome, data: checked.value };
    },
  };
}

function toJsonSchema(schema: object): JsonObject {
  const json = schema instanceof z.ZodType ? (z.toJSONSchema(schema, { io: 'input' }) as JsonObject) : standardSchemaToJson(schema);
  if (!json)
    throw new RetinueError(
      'invalid_brief',
      'result: this schema cannot be converted to JSON Schema; pass a JSON Schema as `{ schema: … }`',
    );
  return json;
}

function issueText({ path = [], message }: Issue): string {
  const location = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return location === '' ? message : `${location}: ${message}`;
}
