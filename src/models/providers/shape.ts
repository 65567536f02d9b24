/** An event that is JSON, but not of the format. Asking again may bring a better one. */
export function misshapen(what: string): Error {
  return Object.assign(new Error(`an event of the answer is not of the format: ${what}`), { name: 'ProviderError' });
}

/** A text; anything else is not of the format. */
export function textOf(value: unknown): string {
  if (typeof value !== 'string') throw misshapen('something else where a text belongs');
  return value;
}

export function optionalText(value: unknown): string | null {
  return value === null || value === undefined ? null : textOf(value);
}
