import { type ReactNode, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { type ActionTarget, nameTarget } from './target.ts';
import { useOrder } from './use-order.ts';

const maxNames = 5;

export function CancelDialog({ target, onClose }: { target: ActionTarget; onClose(): void }): ReactNode {
  const [reason, setReason] = useState('');
  const { isBusy, send } = useOrder();
  const { below } = target;
  const confirm = async () => {
    const isSent = await send(async (client) => {
      const { result } = await client.cancel(target.id, reason.trim() === '' ? {} : { reason: reason.trim() });
      if (result === 'already') return { text: `${nameTarget(target)} had already ended`, tone: 'warning' };
      return `${nameTarget(target)} ${result === 'asked' ? 'is being cancelled' : 'is cancelled; it had no process'}`;
    });
    if (isSent) onClose();
  };
  return (
    <Dialog
      title={below.length === 0 ? 'Cancel this run?' : 'Cancel this run and those below it?'}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it running</Button>
          <Button variant="danger" isBusy={isBusy} onClick={() => void confirm()}>
            {below.length === 0 ? 'Cancel run' : `Cancel ${below.length + (target.isLive ? 1 : 0)} runs`}
          </Button>
        </>
      }
    >
      <p>
        {nameTarget(target)} ends with the status <em>cancelled</em>. What it has done so far stays.
      </p>
      {below.length > 0 && (
        <p>
          This also ends {below.slice(0, maxNames).join(', ')}
          {below.length > maxNames && `, and ${below.length - maxNames} more`}.
        </p>
      )}
      <label className="field">
        <span>Reason (optional, recorded with the run)</span>
        <input className="input" value={reason} maxLength={2000} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Dialog>
  );
}
