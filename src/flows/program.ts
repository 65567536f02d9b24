// Turns a definition into the program that the kernel runs.
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { FlowProgram } from '../ports/flow.ts';
import type { ResultCheck } from '../ports/schema.ts';
import { sha256 } from '../text/canonical.ts';
import { loadChecker } from '../tools/json-schema.ts';
import { createFlow } from './context.ts';
import type { FlowDefinition, InputSchema } from './definition.ts';
import type { StandardSchema } from './result.ts';

/** Where a flow comes from. `isBuiltIn`: its source lines mean nothing to users, so its steps have none. */
export interface FlowOrigin {
  file: string | null;
  version: string;
  isBuiltIn?: boolean;
}

/** `origin`: absent for a flow of a program, whose version is the source of its function. */
export async function definitionToProgram(definition: FlowDefinition, origin?: FlowOrigin): Promise<FlowProgram> {
  const { name, program } = definition;
  const check = await compileInput(definition.schema);
  const parse = (input: Json): unknown => {
    const parsed = check(input);
    if ('problem' in parsed) throw new RetinueError('invalid_brief', `the input of flow ${name}: ${parsed.problem}`);
    return parsed.value;
  };
  return {
    name,
    file: origin?.file ?? null,
    version: origin?.version ?? sha256(JSON.stringify([name, definition.version, String(program)])),
    checkInput: (input) => void parse(input),
    run: async (steps, input) => program(createFlow(steps, { hasLines: origin?.isBuiltIn !== true }), parse(input)),
  };
}

type Parsed = { value: unknown } | { problem: string };

async function compileInput(schema: InputSchema<unknown>): Promise<(input: Json) => Parsed> {
  if (schema === null) return (value) => ({ value });
  if ('~standard' in schema) return (input) => parseStandard(schema as StandardSchema<unknown>, input);
  const check: ResultCheck = (await loadChecker())(schema as JsonObject, '(input)');
  return (value) => {
    const problem = check(value);
    return problem === null ? { value } : { problem };
  };
}

function parseStandard(schema: StandardSchema<unknown>, input: Json): Parsed {
  const checked = schema['~standard'].validate(input);
  if (checked instanceof Promise) return { problem: 'its schema is asynchronous, which flows do not support' };
  if (!checked.issues) return { value: checked.value };
  const problems = checked.issues.map(({ path = [], message }) => {
    const where = path.map((key) => String(typeof key === 'object' ? key.key : key)).join('.');
    return where === '' ? message : `${where}: ${message}`;
  });
  return { problem: problems.join('; ') };
}
