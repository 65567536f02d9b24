import { type ButtonHTMLAttributes, type ReactNode, useId } from 'react';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: 'default' | 'primary' | 'danger' | 'quiet';
  size?: 'normal' | 'small';
  /** Why it cannot be used. The button stays focusable, so that everyone can read the reason. Null: it can be used. */
  disabledReason?: string | null;
  /** Its action is going on. */
  isBusy?: boolean;
}

export function Button({
  variant = 'default',
  size = 'normal',
  disabledReason = null,
  isBusy = false,
  onClick,
  children,
  className = '',
  ...more
}: ButtonProps): ReactNode {
  const reasonId = useId();
  const isOff = disabledReason !== null || isBusy;
  return (
    <button
      type="button"
      className={`button button-${variant} button-${size} ${className}`}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      {...(disabledReason === null ? {} : { 'aria-describedby': reasonId, title: disabledReason })}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onClick?.(event);
      }}
      {...more}
    >
      {children}
      {disabledReason !== null && (
        <span id={reasonId} hidden>
          {disabledReason}
        </span>
      )}
    </button>
  );
}
