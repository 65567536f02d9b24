// Marks text that a child wrote as data inside its parent's conversation (invariant 10).

const fenceName = 'run-output';
const fenceTag = new RegExp(`<(?=\\s*/?\\s*${fenceName})`, 'gi');

/** Fences text and labels it with its run. The text cannot close the fence: its own fence tags are escaped. */
export function fence(text: string, run: string): string {
  const safe = text.replace(fenceTag, '&lt;');
  return `<${fenceName} run="${run}">\n${safe}\n</${fenceName}>`;
}
