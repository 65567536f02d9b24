import { type ReactNode, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { navigate } from '../router.tsx';
import { type ActionTarget, nameTarget } from './target.ts';
import { useOrder } from './use-order.ts';

/** A live run reads the message before its next turn; an ended run answers in a new one. */
export function MessageDialog({ target, onClose }: { target: ActionTarget; onClose(): void }): ReactNode {
  const [text, setText] = useState('');
  const [rules, setRules] = useState('');
  const { isBusy, error, send } = useOrder({ showsError: true });
  const ruleList = rules.split('\n').flatMap((line) => line.trim() || []);
  const isEmpty = text.trim() === '' && ruleList.length === 0;
  const submit = async () => {
    if (isEmpty || isBusy) return;
    let continued: string | null = null;
    const isSent = await send(async (client) => {
      const { kind, runId } = await client.message(target.id, { text, ...(ruleList.length > 0 ? { rules: ruleList } : {}) });
      if (kind === 'sent') return `${nameTarget(target)} will read it before its next turn`;
      if (kind === 'kept') return `The process of ${nameTarget(target)} has died; it will read the message when it is resumed`;
      continued = runId;
      return 'It had ended; a new run answers';
    });
    if (!isSent) return;
    onClose();
    if (continued !== null) navigate(`/runs/${continued}`);
  };
  return (
    <Dialog
      title={target.isLive ? 'Send a message' : 'Ask a follow-up question'}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            variant="primary"
            isBusy={isBusy}
            disabledReason={isEmpty ? 'Write a message first.' : null}
            onClick={() => void submit()}
          >
            {target.isLive ? 'Send' : 'Start follow-up'}
          </Button>
        </>
      }
    >
      <p className="muted">{describeEffect(target)}</p>
      <label className="field">
        <span>Message</span>
        <textarea
          className="input"
          rows={5}
          maxLength={65_536}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => void (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit())}
        />
      </label>
      {target.isLive && (
        <details className="details">
          <summary>Also take permissions away</summary>
          <label className="field">
            <span>
              Rules, one per line, such as <code>deny bash</code>. They apply to this run and those below it from now on.
            </span>
            <textarea className="input mono" rows={3} value={rules} onChange={(event) => setRules(event.target.value)} />
          </label>
        </details>
      )}
      {error !== null && (
        <p className="error-text" role="alert">
          {error.message}
        </p>
      )}
    </Dialog>
  );
}

function describeEffect(target: ActionTarget): string {
  if (!target.isLive) return `${nameTarget(target)} has ended. A new run continues its conversation and answers.`;
  return `${nameTarget(target)} reads it before its next turn.${target.isPaused ? ' It is paused; the message continues it.' : ''}`;
}
