import { useCallback, useState } from 'react';
import type { Client } from '../../../src/client/client.ts';
import { isRemoteError } from '../../../src/client/error.ts';
import { useClient, useHub } from '../data/context.tsx';
import { useNotify } from '../parts/notify.tsx';
import type { Tone } from '../parts/status.tsx';

/** What the user reads after an order. */
export type OrderResult = string | { text: string; tone: Tone };

/** Sends an order once at a time and reports its result. `showsError`: the caller shows `error` itself, so no notice repeats it. */
export function useOrder({ showsError = false }: { showsError?: boolean } = {}): {
  isBusy: boolean;
  error: Error | null;
  send(order: (client: Client) => Promise<OrderResult>): Promise<boolean>;
} {
  const client = useClient();
  const hub = useHub();
  const notify = useNotify();
  const [state, setState] = useState<{ isBusy: boolean; error: Error | null }>({ isBusy: false, error: null });
  const send = useCallback(
    async (order: (client: Client) => Promise<OrderResult>) => {
      setState({ isBusy: true, error: null });
      try {
        const result = await order(client);
        const { text, tone } = typeof result === 'string' ? { text: result, tone: 'ok' as const } : result;
        notify(text, tone);
        setState({ isBusy: false, error: null });
        return true;
      } catch (problem) {
        const error = problem as Error;
        if (isRemoteError(error) && error.status === 401) hub.refuse(error.message);
        if (!showsError) notify(error.message, 'error');
        setState({ isBusy: false, error });
        return false;
      }
    },
    [client, hub, notify, showsError],
  );
  return { ...state, send };
}
