import { type ReactNode, useId } from 'react';

export interface FieldProps {
  /** The name of the field, so that an error can set the focus to it. */
  name: string;
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  /** Gets the attributes of the input. */
  children(input: { id: string; name: string; 'aria-invalid'?: true; 'aria-describedby'?: string }): ReactNode;
}

/** A labelled input with a hint, and with an error that screen readers connect to it. */
export function Field({ name, label, hint, error, children }: FieldProps): ReactNode {
  const id = useId();
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error === undefined ? [] : [`${id}-error`])].join(' ');
  return (
    <div className={error === undefined ? 'field' : 'field has-error'}>
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        name,
        ...(error === undefined ? {} : { 'aria-invalid': true as const }),
        ...(described === '' ? {} : { 'aria-describedby': described }),
      })}
      {error !== undefined && (
        <p id={`${id}-error`} className="field-error">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="field-hint muted">
          {hint}
        </p>
      )}
    </div>
  );
}
