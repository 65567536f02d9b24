// Normalises base addresses: with or without version and trailing slash, and in Ollama's shorthand.
import { RetinueError } from '../../contract/error.ts';

/**
 * Appends the version (`v1`, `v1beta`) unless the path already has one. `from` names the setting for errors, which never repeat the address,
 * because it may contain credentials.
 */
export function normaliseBaseUrl(given: string, version: string, from: string): string {
  const url = URL.parse(given.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) throw createAddressError(from, 'it must begin with http:// or https://');
  if (url.username !== '' || url.password !== '') throw createAddressError(from, 'it must not contain a user name or a password');
  if (url.search !== '' || url.hash !== '') throw createAddressError(from, 'it must not contain ? or #');
  const path = url.pathname.replace(/\/+$/, '');
  const hasVersion = path.split('/').some((segment) => /^v\d+(alpha|beta)?\d*$/.test(segment));
  return `${url.origin}${path}${hasVersion ? '' : `/${version}`}`;
}

const defaultOllamaUrl = 'http://127.0.0.1:11434';

/** Accepts every form of `OLLAMA_HOST` that the server accepts: `0.0.0.0`, `:11434`, a bare host name. The result has no path. */
export function ollamaBaseUrl(host: string | undefined): string {
  if (host === undefined) return defaultOllamaUrl;
  const trimmed = host.trim().replace(/\/+$/, '');
  const withScheme = /^https?:\/\//.test(trimmed) ? trimmed : `http://${trimmed.startsWith(':') ? '127.0.0.1' : ''}${trimmed}`;
  const url = URL.parse(withScheme);
  if (url === null) throw createAddressError('OLLAMA_HOST', 'it must be a host, a port or both');
  if (!withScheme.startsWith('https') && url.port === '' && withScheme !== trimmed) url.port = '11434';
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.href.replace(/\/+$/, '');
}

function createAddressError(from: string, why: string): RetinueError {
  return new RetinueError('unknown_model', `the address in ${from} cannot be used: ${why}`);
}
