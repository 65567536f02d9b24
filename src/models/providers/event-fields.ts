// Checks of the fields of streamed events, for the decoders of wire formats.

/** The event is JSON, but violates the format. A retry may help. */
export function createFormatError(what: string): Error {
  return Object.assign(new Error(`an event of the answer has an unexpected form: ${what}`), { name: 'ProviderError' });
}

export function requireText(value: unknown): string {
  if (typeof value !== 'string') throw createFormatError('a string was expected');
  return value;
}

export function requireOptionalText(value: unknown): string | null {
  return isPresent(value) ? requireText(value) : null;
}

export function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined;
}
