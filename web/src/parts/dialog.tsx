import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef } from 'react';
import { Button } from './button.tsx';

export interface DialogProps {
  title: string;
  onClose(): void;
  children: ReactNode;
  /** Buttons, right-aligned. */
  footer?: ReactNode;
  size?: 'normal' | 'wide';
  /** Keys besides Escape. */
  onKey?(key: string): void;
}

/** A modal dialog: the browser keeps the focus inside, Escape closes it, and the focus returns to where it was. Render it only while it is open. */
export function Dialog({ title, onClose, children, footer, size = 'normal', onKey }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current as HTMLDialogElement;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  const cancel = (event: SyntheticEvent) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog
      ref={element}
      className={`dialog dialog-${size}`}
      aria-labelledby={titleId}
      onCancel={cancel}
      onKeyDown={(event) => onKey?.(event.key)}
      onClick={(event) => void (event.target === element.current && onClose())}
    >
      <div className="dialog-content">
        <header className="dialog-header">
          <h2 id={titleId}>{title}</h2>
          <Button variant="quiet" size="small" aria-label="Close" onClick={onClose}>
            ✕
          </Button>
        </header>
        <div className="dialog-body">{children}</div>
        {footer !== undefined && <footer className="dialog-footer">{footer}</footer>}
      </div>
    </dialog>
  );
}
