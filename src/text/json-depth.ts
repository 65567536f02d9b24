// How deep JSON text is nested, without parsing it: code that walks a parsed value calls itself for each level, and would exhaust the stack.

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
