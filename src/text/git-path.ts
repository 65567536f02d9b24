// Paths as git writes them: one with a quote, a backslash or a control character is in quotes, with escapes as in C.

const letters: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/** The path itself. A text that is not in quotes is one already. */
export function unquoteGitPath(text: string): string {
  if (!/^".*"$/s.test(text)) return text;
  const parts = [...text.slice(1, -1).matchAll(/\\([0-7]{3}|.)|[^\\]+/gs)];
  // An octal escape is one byte of a character.
  const bytes = parts.flatMap(([whole, letter]) =>
    letter === undefined ? [...new TextEncoder().encode(whole)] : [letters[letter] ?? Number.parseInt(letter, 8)],
  );
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
