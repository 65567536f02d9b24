// The actions on a run: which ones make sense, what they are called, and the dialogs behind them.
import { createContext, lazy, type ReactNode, Suspense, useCallback, useContext, useMemo, useState } from 'react';
import { useMissingRole } from '../data/context.tsx';
import type { MenuItem } from '../parts/menu.tsx';
import { useNotify } from '../parts/notify.tsx';
import { type ActionTarget, nameTarget } from './target.ts';
import { useOrder } from './use-order.ts';

type DialogKind = 'cancel' | 'message' | 'fork' | 'verify' | 'replay';

const dialogs = {
  cancel: lazy(async () => ({ default: (await import('./cancel-dialog.tsx')).CancelDialog })),
  message: lazy(async () => ({ default: (await import('./message-dialog.tsx')).MessageDialog })),
  fork: lazy(async () => ({ default: (await import('./fork-dialog.tsx')).ForkDialog })),
  verify: lazy(async () => ({ default: (await import('./check-dialog.tsx')).VerifyDialog })),
  replay: lazy(async () => ({ default: (await import('./check-dialog.tsx')).ReplayDialog })),
};

export interface RunActions {
  open(kind: DialogKind, target: ActionTarget, options?: { turn?: number }): void;
  pause(target: ActionTarget): void;
  resume(target: ActionTarget): void;
  /** Everything that can be done with a run now. What the token does not allow has a reason. */
  items(target: ActionTarget): MenuItem[];
}

const Actions = createContext<RunActions | null>(null);

export function useRunActions(): RunActions {
  const actions = useContext(Actions);
  if (actions === null) throw new Error('only below a RunActionsProvider');
  return actions;
}

export function RunActionsProvider({ children }: { children: ReactNode }): ReactNode {
  const [dialog, setDialog] = useState<{ kind: DialogKind; target: ActionTarget; turn?: number } | null>(null);
  const { send } = useOrder();
  const notify = useNotify();
  const noSteer = useMissingRole('steer');
  const noStart = useMissingRole('start');
  const close = useCallback(() => setDialog(null), []);
  const actions = useMemo((): RunActions => {
    const open: RunActions['open'] = (kind, target, options = {}) => setDialog({ kind, target, ...options });
    const pause = (target: ActionTarget) => {
      // The answer comes when nothing of the run is running any more, which can take a while.
      notify(`Pausing ${nameTarget(target)}: calls that are running finish first`, 'paused');
      void send(async (client) => {
        const { result } = await client.pause(target.id);
        if (result === 'already') return { text: `${nameTarget(target)} was paused already, or has ended`, tone: 'warning' };
        return { text: `${nameTarget(target)} is paused`, tone: 'paused' };
      });
    };
    const resume = (target: ActionTarget) =>
      void send(async (client) => {
        const { result } = await client.resume(target.id);
        if (result === 'already') return { text: `${nameTarget(target)} was not paused`, tone: 'warning' };
        return result === 'released' ? `${nameTarget(target)} continues` : 'The tree continues on the server';
      });
    const compact = (target: ActionTarget) =>
      void send(async (client) => {
        const { result } = await client.compact(target.id);
        return `${nameTarget(target)} replaces its conversation by a summary ${result === 'kept' ? 'when it is resumed' : 'before its next turn'}`;
      });
    const items = (target: ActionTarget): MenuItem[] => {
      const isAgent = target.kind === 'agent';
      return [
        ...(target.isLive && isAgent ? [{ label: 'Send a message…', disabledReason: noSteer, run: () => open('message', target) }] : []),
        ...(target.isLive && target.isPaused ? [{ label: 'Continue', disabledReason: noSteer, run: () => resume(target) }] : []),
        ...(target.isLive && !target.isPaused ? [{ label: 'Pause', disabledReason: noSteer, run: () => pause(target) }] : []),
        ...(target.isLive && isAgent && target.turns > 0
          ? [{ label: 'Compact', disabledReason: noSteer, run: () => compact(target) }]
          : []),
        ...(!target.isLive && isAgent ? [{ label: 'Ask a follow-up…', disabledReason: noStart, run: () => open('message', target) }] : []),
        ...(isAgent && target.turns > 0 ? [{ label: 'Fork from a turn…', disabledReason: noStart, run: () => open('fork', target) }] : []),
        { label: 'Verify the log…', run: () => open('verify', target) },
        { label: 'Replay the decisions…', run: () => open('replay', target) },
        ...(target.isLive || target.below.length > 0
          ? [{ label: 'Cancel…', isDanger: true, disabledReason: noSteer, run: () => open('cancel', target) }]
          : []),
      ];
    };
    return { open, pause, resume, items };
  }, [send, notify, noSteer, noStart]);
  const Opened = dialog === null ? null : (dialogs[dialog.kind] as typeof dialogs.fork);
  return (
    <Actions value={actions}>
      {children}
      {dialog !== null && Opened !== null && (
        <Suspense fallback={null}>
          <Opened target={dialog.target} onClose={close} {...(dialog.turn === undefined ? {} : { turn: dialog.turn })} />
        </Suspense>
      )}
    </Actions>
  );
}
