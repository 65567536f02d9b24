/**
 * Parses JSON that may break off anywhere: what is complete up to the break is kept and what is open there is closed.
 * Undefined where nothing can be made of it.
 */
export function parseCutJson(text: string): unknown {
  return parse(text) ?? parse(closed(text));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text up to the last place where a value was complete, and the brackets that are open there. */
function closed(text: string): string {
  const open: string[] = [];
  let safe = '';
  let end = 0;
  const mark = (at: number): void => {
    end = at;
    safe = open.toReversed().join('');
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      while (++i < text.length && text[i] !== '"') if (text[i] === '\\') i++;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']');
      if (open.length > 64) return '';
      mark(i + 1);
    } else if (char === '}' || char === ']') {
      open.pop();
      mark(i + 1);
      if (open.length === 0) break;
    } else if (char === ',') mark(i);
  }
  return text.slice(0, end) + safe;
}
