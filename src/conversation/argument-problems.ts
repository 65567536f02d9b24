// What is wrong with the arguments of a tool call, as sentences for the model that wrote them: each names the parameter, what is wrong with
// it and, for one that does not exist, the nearest that does.
import { z } from 'zod';
import { clipName, nearestName } from '../text/suggest.ts';

const maxNamed = 5;

/** The problems of arguments that the schema refused. */
export function namedProblems(error: z.ZodError, schema: z.ZodType, args: unknown): string {
  const named = error.issues.flatMap((issue) => sentences(issue, schema, args));
  const more = named.length > maxNamed ? [`and ${named.length - maxNamed} more`] : [];
  return [...named.slice(0, maxNamed), ...more].join('; ');
}

function sentences(issue: z.core.$ZodIssue, schema: z.ZodType, args: unknown): string[] {
  if (issue.code !== 'unrecognized_keys') {
    const missing = issue.code === 'invalid_type' && valueAt(args, issue.path) === undefined;
    const what = missing ? `is missing; it has to be ${article(String(issue.expected))}` : issue.message;
    return [`${named(issue.path)}: ${what}`];
  }
  const known = parametersAt(schema, issue.path);
  return issue.keys.map((key) => {
    const near = nearestName(key, known);
    const hint = near === null ? (known.length === 0 ? '' : `; there are: ${known.join(', ')}`) : `; did you mean \`${near}\`?`;
    return `${named([...issue.path, clipName(key)])}: there is no such parameter${hint}`;
  });
}

function named(path: PropertyKey[]): string {
  return path.length === 0 ? '(arguments)' : z.core.toDotPath(path);
}

function article(type: string): string {
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

/** The names that an object at this place may have. */
function parametersAt(schema: z.ZodType, path: PropertyKey[]): string[] {
  let places = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema];
  for (const step of path) {
    places = places.flatMap(options).flatMap((place) => (typeof step === 'number' ? place.items : place.properties?.[String(step)]) ?? []);
  }
  return places.flatMap(options).flatMap((place) => Object.keys(place.properties ?? {}));
}

function options(place: JsonSchema): JsonSchema[] {
  return place.anyOf ? place.anyOf.flatMap(options) : [place];
}
