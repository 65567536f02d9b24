// The reason that a program gave to `abort(reason)`, as text.

const maxLength = 1_000;

/** Null if the reason says nothing: none was given, or it is an object that is no error. */
function abortReasonText(reason: unknown): string | null {
  const text = typeof reason === 'string' ? reason : reason instanceof Error && reason.name !== 'AbortError' ? reason.message : '';
  const trimmed = text.trim();
  return trimmed === '' ? null : trimmed.slice(0, maxLength).toWellFormed();
}

/** `what`, with the reason behind it if there is one. */
export function withAbortReason(what: string, reason: unknown): string {
  const text = abortReasonText(reason);
  return text === null ? what : `${what}: ${text}`;
}
