// Turns a definition into the program that the kernel runs.
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { FlowProgram } from '../ports/flow.ts';
import type { ResultCheck } from '../ports/schema.ts';
import { sha256 } from '../text/canonical.ts';
import { loadChecker } from '../tools/json-schema.ts';
import { issueText, type StandardSchema } from '../tools/program-schema.ts';
import { createFlow } from './context.ts';
import type { FlowDefinition, InputSchema } from './definition.ts';
import { callGuarded, runGuarded } from './process-guard.ts';
import { addPosition } from './source-position.ts';

/** Where a flow comes from. `isBuiltIn`: its source lines mean nothing to users, so its steps have none. */
export interface FlowOrigin {
  file: string | null;
  version: string;
  isBuiltIn?: boolean;
}

/** `origin`: absent for a flow of a program, whose version is the source of its function. */
export async function definitionToProgram(definition: FlowDefinition, origin?: FlowOrigin): Promise<FlowProgram> {
  const { name, program } = definition;
  const check = await compileInput(name, definition.schema);
  const parse = (input: Json): unknown => {
    const parsed = check(input);
    if ('problem' in parsed)
      throw new RetinueError(
        'invalid_brief',
        `the input of flow ${name}: ${parsed.problem}${input === null ? '; no input was given' : ''}`,
      );
    return parsed.value;
  };
  const hasLines = origin?.isBuiltIn !== true;
  const run: FlowProgram['run'] = async (steps, input) => program(createFlow(steps, { hasLines }), parse(input));
  const version = origin?.version ?? sha256(JSON.stringify([name, definition.version, String(program)]));
  const file = origin?.file ?? null;
  if (file === null) return { name, file, version, checkInput: (input) => void parse(input), run };
  return {
    name,
    file,
    version,
    checkInput: (input) => void callGuarded(() => parse(input)),
    async run(steps, input) {
      try {
        return await runGuarded(steps, (guarded) => run(guarded, input));
      } catch (error) {
        throw addPosition(error, steps.workspace);
      }
    },
  };
}

type Parsed = { value: unknown } | { problem: string };

/** Rejects with `usage` if it is no schema. */
async function compileInput(name: string, schema: InputSchema<unknown>): Promise<(input: Json) => Parsed> {
  if (schema === null) return (value) => ({ value });
  if (!isObject(schema))
    throw new RetinueError(
      'usage',
      `flow ${name}: the second argument of defineFlow must be a schema for the input: a JSON Schema, a schema of zod or the like, or null for any input`,
    );
  if ('~standard' in schema) return (input) => parseStandard(schema as StandardSchema<unknown>, input);
  const check = await compileJsonSchema(name, schema);
  return (value) => {
    const problem = check(value);
    return problem === null ? { value } : { problem };
  };
}

/** Also a function: schemas of some libraries are callable. */
function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null && !Array.isArray(value)) || (typeof value === 'function' && '~standard' in value);
}

async function compileJsonSchema(name: string, schema: JsonObject): Promise<ResultCheck> {
  const compile = await loadChecker();
  try {
    return compile(schema, '(input)');
  } catch (error) {
    throw new RetinueError('usage', `flow ${name}: its input schema is not a valid JSON Schema: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function parseStandard(schema: StandardSchema<unknown>, input: Json): Parsed {
  const checked = schema['~standard'].validate(input);
  if (checked instanceof Promise) return { problem: 'its schema is asynchronous, which flows do not support' };
  if (!checked.issues) return { value: checked.value };
  return { problem: checked.issues.map(issueText).join('; ') };
}
