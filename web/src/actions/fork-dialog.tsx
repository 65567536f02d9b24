import { type ReactNode, useState } from 'react';
import { useClient } from '../data/context.tsx';
import { useResource } from '../data/use-resource.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { navigate } from '../router.tsx';
import { type ActionTarget, nameTarget } from './target.ts';
import { useOrder } from './use-order.ts';

interface ForkDialogProps {
  target: ActionTarget;
  /** Chosen at first; the last one if absent. */
  turn?: number | undefined;
  onClose(): void;
}

/** Starts a new run that has the conversation of this one up to a turn. */
export function ForkDialog({ target, turn: given, onClose }: ForkDialogProps): ReactNode {
  const client = useClient();
  const last = Math.max(1, target.turns);
  const [turn, setTurn] = useState(given ?? last);
  const [task, setTask] = useState('');
  const [model, setModel] = useState('');
  const { isBusy, error, send } = useOrder({ showsError: true });
  const { data: models = [] } = useResource((signal) => client.models({ signal }), [client]);
  const submit = async () => {
    let started: string | null = null;
    const isSent = await send(async () => {
      const { runId } = await client.fork(target.id, {
        turn,
        ...(task.trim() === '' ? {} : { task: task.trim() }),
        ...(model === '' ? {} : { model }),
      });
      started = runId;
      return `A new run continues from turn ${turn}`;
    });
    if (!isSent || started === null) return;
    onClose();
    navigate(`/runs/${started}`);
  };
  return (
    <Dialog
      title="Fork from a turn"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button variant="primary" isBusy={isBusy} onClick={() => void submit()}>
            Start the fork
          </Button>
        </>
      }
    >
      <p className="muted">
        A new run gets the conversation of {nameTarget(target)} up to the end of this turn, then your instruction. The run itself does not
        change, and files stay as they are now.
      </p>
      <label className="field">
        <span>After turn (1 to {last})</span>
        <input
          className="input"
          type="number"
          min={1}
          max={last}
          value={turn}
          onChange={(event) => setTurn(Math.min(last, Math.max(1, Number(event.target.value) || 1)))}
        />
      </label>
      <label className="field">
        <span>Instruction (default: continue with the task from here)</span>
        <textarea className="input" rows={4} value={task} onChange={(event) => setTask(event.target.value)} />
      </label>
      <label className="field">
        <span>Model (default: that of the run)</span>
        <input className="input" list="fork-models" value={model} onChange={(event) => setModel(event.target.value)} />
        <datalist id="fork-models">
          {models.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      {error !== null && (
        <p className="error-text" role="alert">
          {error.message}
        </p>
      )}
    </Dialog>
  );
}
