// The wanted result of a brief as the library takes it: a form, or a schema whose type `outcome.data` then has.
import { z } from 'zod';
import type { ResultForm } from '../contract/brief.ts';
import { RetinueError } from '../contract/error.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { ResultCheck } from '../ports/schema.ts';
import { standardSchemaToJson } from '../tools/ai-sdk.ts';

type Issue = { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined };
type Validated<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** What zod, valibot, arktype and others have in common (Standard Schema). */
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
  /** What the JSON Schema cannot say, such as refinements: it counts during the run, so that the model can repair it. */
  check: ResultCheck | undefined;
  typed(outcome: Outcome): Promise<Omit<Outcome, 'data'> & { data?: T }>;
}

export function resultOf<T>(result: ResultForm | StandardSchema<T> | undefined): WantedResult<T> {
  if (result === undefined || !('~standard' in result))
    return { form: result, check: undefined, typed: async (outcome) => outcome as never };
  const { validate } = result['~standard'];
  return {
    form: { schema: schemaOf(result) },
    check: (value) => {
      const checked = validate(value);
      return checked instanceof Promise || !checked.issues ? null : checked.issues.map(told).join('; ');
    },
    async typed(outcome) {
      if (outcome.data === undefined) return outcome as never;
      const checked = await validate(outcome.data);
      return checked.issues ? (outcome as never) : { ...outcome, data: checked.value };
    },
  };
}

function schemaOf(schema: object): JsonObject {
  const json = schema instanceof z.ZodType ? (z.toJSONSchema(schema, { io: 'input' }) as JsonObject) : standardSchemaToJson(schema);
  if (!json)
    throw new RetinueError('invalid_brief', 'result: this schema cannot be turned into a JSON Schema; give one as `{ schema: … }`');
  return json;
}

function told({ path = [], message }: Issue): string {
  const where = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return where === '' ? message : `${where}: ${message}`;
}
