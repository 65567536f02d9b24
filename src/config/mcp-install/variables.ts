// Which environment variables an installed server needs, by name. Values are never written into a client's file.
import { type ProviderKind, providerKinds } from '../../models/providers/kinds.ts';
import type { Settings } from '../settings.ts';
import type { Env } from '../user-folders.ts';

const ownVariables = ['RETINUE_MODEL', 'RETINUE_DB', 'RETINUE_ORDER_KEY', 'PGPASSWORD'];

export interface ServerVariables {
  /** Those that the client should pass on: what is set now, and the key of the model. */
  names: string[];
  /** The key of the model, if it is not set. */
  missing: string | null;
}

export function findServerVariables({ model, providers }: Pick<Settings, 'model' | 'providers'>, env: Env): ServerVariables {
  const [provider = ''] = model?.value.split('/') ?? [];
  const key = findKeyVariable(provider, providers);
  const conventional = Object.values(providerKinds).flatMap(({ keyVariable, baseVariable }) => [keyVariable, baseVariable]);
  const configured = Object.values(providers).map(({ apiKeyEnv }) => apiKeyEnv);
  const known = [...conventional, ...configured, ...ownVariables].filter((name) => typeof name === 'string');
  const names = [...new Set([...(key?.name === undefined ? [] : [key.name]), ...known.filter((name) => env[name])])];
  return { names: names.sort(), missing: key?.isRequired && !env[key.name] ? key.name : null };
}

function findKeyVariable(provider: string, providers: Settings['providers']): { name: string; isRequired: boolean } | null {
  const own = providers[provider];
  const kind = own?.kind ?? (Object.hasOwn(providerKinds, provider) ? (provider as ProviderKind) : null);
  if (own?.apiKeyEnv !== undefined) return { name: own.apiKeyEnv, isRequired: true };
  if (kind === null) return null;
  const { keyVariable, keyRequired } = providerKinds[kind];
  return keyVariable !== null && keyRequired ? { name: keyVariable, isRequired: true } : null;
}
