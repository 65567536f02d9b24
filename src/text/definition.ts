// A setting as the user reads it before trusting it. The user decides by this text, so nothing that takes effect may be missing from it.
import { stringifySafely } from './terminal.ts';

/** Fields whose value is used as an address and as nothing else. */
const addressFields = ['url', 'baseURL'];

/**
 * The complete value as JSON, with hidden characters as `\u` escapes. Only the password in an address field of a server or provider is left
 * out: it reaches no shell, and the text may be printed where others see it.
 */
export function describeDefinition(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return stringifySafely(value);
  const shown = Object.entries(value).map(([key, inner]) => [
    key,
    addressFields.includes(key) && typeof inner === 'string' ? hidePassword(inner) : inner,
  ]);
  return stringifySafely(Object.fromEntries(shown));
}

/** A password with a variable stays: the user must see which variable is sent. */
function hidePassword(address: string): string {
  const url = URL.parse(address);
  if (url === null || url.password === '' || address.includes('$')) return address;
  return `${url.protocol}//${url.username}:…@${url.host}${url.pathname}${url.search}${url.hash}`;
}
