// Parses the arguments of a tool call strictly, as the model wrote them. Problems are sentences for the model.
import type { Json } from '../contract/json.ts';

export type ParsedArguments = { ok: true; value: Json } | { ok: false; problem: string };

/** Deeper arguments are refused. */
export const maxArgumentDepth = 64;
const maxBytes = 4 * 1024 * 1024;

export function parseArguments(text: string): ParsedArguments {
  if (text.length > maxBytes) return { ok: false, problem: `the arguments are larger than ${maxBytes} bytes` };
  if (text.trim() === '') return { ok: true, value: {} };
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return { ok: false, problem: `the arguments are not valid JSON: ${(error as Error).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ok: false, problem: 'the arguments must be a JSON object' };
  const problem = findProblem(text);
  return problem ? { ok: false, problem } : { ok: true, value };
}

/** Checks valid JSON text for what `JSON.parse` accepts silently: deep nesting, and duplicate keys in an object. */
function findProblem(text: string): string | null {
  const keys: (Set<string> | null)[] = [];
  let expectKey = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '{' || char === '[') {
      keys.push(char === '{' ? new Set() : null);
      if (keys.length > maxArgumentDepth) return `the arguments are nested deeper than ${maxArgumentDepth} levels`;
      expectKey = char === '{';
    } else if (char === '}' || char === ']') {
      keys.pop();
      expectKey = false;
    } else if (char === ',') {
      expectKey = keys.at(-1) !== null;
    } else if (char === '"') {
      const end = endOfString(text, i);
      const own = keys.at(-1);
      if (expectKey && own) {
        const key = JSON.parse(text.slice(i, end + 1)) as string;
        if (own.has(key)) return `the arguments have the key ${JSON.stringify(key)} twice`;
        own.add(key);
        expectKey = false;
      }
      i = end;
    }
  }
  return null;
}

function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}
