import type { ReactNode } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { keyTable } from './shortcuts.ts';

export function HelpDialog({ onClose }: { onClose(): void }): ReactNode {
  return (
    <Dialog title="Keyboard" onClose={onClose} onKey={(key) => void (key === '?' && onClose())}>
      {keyTable.map(({ where, keys }) => (
        <section key={where} className="help-section">
          <h3>{where}</h3>
          <dl className="keys">
            {keys.map(([key, text]) => (
              <div key={key}>
                <dt>
                  {key.split(' ').map((part) => (
                    <kbd key={part}>{part}</kbd>
                  ))}
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
