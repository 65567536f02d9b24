// How deep JSON is nested: code that walks a parsed value calls itself for each level, and would exhaust the stack.

/** Code that reads facts can walk this much. */
export const maxValueDepth = 400;

/** Linear in the text. Brackets in strings do not count. Text that is not JSON may get either answer. */
export function isJsonDeeperThan(text: string, max: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (isInString) {
      if (char === '\\') i++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === '{' || char === '[') {
      if (++depth > max) return true;
    } else if (char === '}' || char === ']') depth--;
  }
  return false;
}

/** The same for a value, which may contain itself. */
export function isValueDeeperThan(value: unknown, max: number): boolean {
  const open: [value: unknown, depth: number][] = [[value, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [current, depth] = next;
    if (typeof current !== 'object' || current === null) continue;
    if (depth === max) return true;
    for (const inner of Object.values(current)) if (typeof inner === 'object') open.push([inner, depth + 1]);
  }
  return false;
}
