// The address of a model for requests in the provider's own protocol, as the model gate forwards them. The key never leaves this closure.
import type { ModelEndpoint } from '../../ports/model.ts';
import { createPoster, identityEncoding, type Poster } from './http-post.ts';
import type { ProviderKind } from './kinds.ts';

type Wire = ModelEndpoint['wire'];

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const protocols: Partial<Record<ProviderKind, { wire: Wire; path: string; headers(key: string): Record<string, string> }>> = {
  anthropic: { wire: 'messages', path: '/messages', headers: (key) => ({ 'anthropic-version': '2023-06-01', 'x-api-key': key }) },
  openai: { wire: 'responses', path: '/responses', headers: bearer },
  ollama: { wire: 'chat', path: '/chat/completions', headers: bearer },
  'openai-compatible': { wire: 'chat', path: '/chat/completions', headers: bearer },
};

/** Undefined for a provider whose protocol the gate does not know. */
export function createEndpoint(kind: ProviderKind, modelId: string, connection: { baseURL: string; key: string | undefined }) {
  const protocol = protocols[kind];
  if (!protocol) return undefined;
  const { wire, path, headers } = protocol;
  let poster: Promise<Poster> | null = null;
  const endpoint: ModelEndpoint = {
    wire,
    modelId,
    clean: (text) => (connection.key === undefined ? text : text.replaceAll(connection.key, '[secret]')),
    async post({ body, headers: given, signal }) {
      poster ??= createPoster(`${connection.baseURL}${path}`);
      const own = connection.key === undefined ? {} : headers(connection.key);
      return (await poster)({ body, signal, headers: { 'content-type': 'application/json', ...given, ...own, ...identityEncoding } });
    },
  };
  return endpoint;
}
