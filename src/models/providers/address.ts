// Base addresses as people write them: with or without version and slash, and Ollama's own shorthand.
import { RetinueError } from '../../contract/error.ts';

/**
 * The address with its version (`v1`, `v1beta`) at the end, unless one stands in its path already. `from` says where the address was
 * found; the address itself is not repeated in an error, since it may carry credentials.
 */
export function baseAddress(given: string, version: string, from: string): string {
  const url = URL.parse(given.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) throw refused(from, 'it must be an address that begins with http:// or https://');
  if (url.username !== '' || url.password !== '') throw refused(from, 'it must not carry a user name or a password');
  if (url.search !== '' || url.hash !== '') throw refused(from, 'it must end with its path: no ? and no #');
  const path = url.pathname.replace(/\/+$/, '');
  const hasVersion = path.split('/').some((segment) => /^v\d+(alpha|beta)?\d*$/.test(segment));
  return `${url.origin}${path}${hasVersion ? '' : `/${version}`}`;
}

export const ollamaDefault = 'http://127.0.0.1:11434';

/** `OLLAMA_HOST` is what the server binds to, too: `0.0.0.0`, `:11434` and a bare host name all occur. No path at the end. */
export function ollamaAddress(host: string | undefined): string {
  if (host === undefined) return ollamaDefault;
  const trimmed = host.trim().replace(/\/+$/, '');
  const withScheme = /^https?:\/\//.test(trimmed) ? trimmed : `http://${trimmed.startsWith(':') ? '127.0.0.1' : ''}${trimmed}`;
  const url = URL.parse(withScheme);
  if (url === null) throw refused('OLLAMA_HOST', 'it must be a host, a port or both');
  if (!withScheme.startsWith('https') && url.port === '' && withScheme !== trimmed) url.port = '11434';
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.href.replace(/\/+$/, '');
}

function refused(from: string, why: string): RetinueError {
  return new RetinueError('unknown_model', `the address in ${from} cannot be used: ${why}`);
}
