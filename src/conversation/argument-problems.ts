// Describes invalid arguments of a tool call to the model that wrote them: the parameter, the problem and, for an unknown parameter, the nearest
// known one.
import { z } from 'zod';
import { clipName, nearestName } from '../text/suggest.ts';

const maxListed = 5;

/** Describes why a schema refused arguments, in one line. */
export function describeArgumentProblems(error: z.ZodError, schema: z.ZodType, args: unknown): string {
  const problems = error.issues.flatMap((issue) => issueToProblems(issue, schema, args));
  const more = problems.length > maxListed ? [`and ${problems.length - maxListed} more`] : [];
  return [...problems.slice(0, maxListed), ...more].join('; ');
}

function issueToProblems(issue: z.core.$ZodIssue, schema: z.ZodType, args: unknown): string[] {
  if (issue.code !== 'unrecognized_keys') {
    const isMissing = issue.code === 'invalid_type' && valueAt(args, issue.path) === undefined;
    const problem = isMissing ? `is missing; it has to be ${withArticle(String(issue.expected))}` : issue.message;
    return [`${pathToText(issue.path)}: ${problem}`];
  }
  const known = parametersAt(schema, issue.path);
  return issue.keys.map((key) => {
    const nearest = nearestName(key, known);
    const available = known.length === 0 ? '' : `; available: ${known.join(', ')}`;
    const hint = nearest === null ? available : `; did you mean \`${nearest}\`?`;
    return `${pathToText([...issue.path, clipName(key)])}: there is no such parameter${hint}`;
  });
}

function pathToText(path: PropertyKey[]): string {
  return path.length === 0 ? '(arguments)' : z.core.toDotPath(path);
}

function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  let at = value;
  for (const step of path) at = typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? at[step as keyof typeof at] : undefined;
  return at;
}

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

/** The parameter names that an object at this path may have. */
function parametersAt(schema: z.ZodType, path: PropertyKey[]): string[] {
  let schemas = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema];
  for (const step of path) {
    schemas = schemas
      .flatMap(listAlternatives)
      .flatMap((each) => (typeof step === 'number' ? each.items : each.properties?.[String(step)]) ?? []);
  }
  return schemas.flatMap(listAlternatives).flatMap((each) => Object.keys(each.properties ?? {}));
}

function listAlternatives(schema: JsonSchema): JsonSchema[] {
  return schema.anyOf ? schema.anyOf.flatMap(listAlternatives) : [schema];
}
