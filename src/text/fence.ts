// Marks text that a child wrote as data inside its parent's conversation (invariant 10).

const fenceName = 'run-output';
const fenceTag = new RegExp(`<(?=\\s*/?\\s*${fenceName})`, 'gi');

/** Encloses text in tags that name its run. Fence tags inside the text are escaped, so it cannot close the fence. */
export function fence(text: string, run: string): string {
  const safe = text.replace(fenceTag, '&lt;');
  return `<${fenceName} run="${run}">\n${safe}\n</${fenceName}>`;
}
