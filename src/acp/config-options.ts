// What the user can choose for a session: its mode and its model. Clients that know configuration options use them instead of modes.

import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import { findMode, type Mode, modeIds, modes } from './modes.ts';
import type { ConfigOption } from './protocol.ts';

/** The value for “as configured” if no model is configured. */
const noModel = '';

export interface Choices {
  mode: Mode;
  /** Null: the configured one. */
  model: string | null;
}

export interface ModelChoice {
  /** Null if none is configured. */
  configured: string | null;
  /** Others that this machine has a key for. */
  available: string[];
}

export function describeChoices({ mode, model }: Choices, models: ModelChoice): ConfigOption[] {
  const current = model ?? models.configured ?? noModel;
  const names = [...new Set([...(models.configured === null ? [] : [models.configured]), ...models.available, ...(model ? [model] : [])])];
  const options = names.map((name) => ({ value: name, name }));
  return [
    {
      ...{ id: 'mode', name: 'Mode', category: 'mode', type: 'select', currentValue: mode.id },
      options: modes.map(({ id, name, description }) => ({ value: id, name, description })),
    },
    {
      ...{ id: 'model', name: 'Model', category: 'model', type: 'select', currentValue: current },
      options: current === noModel ? [{ value: noModel, name: 'none is configured' }, ...options] : options,
    },
  ];
}

/** Throws an RpcError that says what is possible. */
export function parseMode(id: string): Mode {
  const mode = findMode(id);
  if (mode === null) throw new RpcError(rpcCodes.invalidParams, `there is no mode ${JSON.stringify(id)}; use ${modeIds.join(', ')}`);
  return mode;
}

/** Null for the configured model. Throws an RpcError for one that is not offered. */
export function parseModel(value: string, choices: Choices, models: ModelChoice): string | null {
  const [, option] = describeChoices(choices, models);
  if (!option?.options.some((each) => each.value === value))
    throw new RpcError(
      rpcCodes.invalidParams,
      `the model ${JSON.stringify(value)} is not offered; configure it with \`retinue models use\``,
    );
  return value === (models.configured ?? noModel) ? null : value;
}
