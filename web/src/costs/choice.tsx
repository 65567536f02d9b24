import { type ReactNode, useId } from 'react';

export interface ChoiceProps<T extends string> {
  label: string;
  options: readonly (readonly [T, string])[];
  value: T;
  onChange(value: T): void;
}

/** A few options of which one is chosen, as a row of buttons. */
export function Choice<T extends string>({ label, options, value, onChange }: ChoiceProps<T>): ReactNode {
  const name = useId();
  return (
    <fieldset className="choice">
      <legend>{label}</legend>
      <div className="choice-options">
        {options.map(([option, text]) => (
          <label key={option} className={option === value ? 'is-selected' : undefined}>
            <input
              type="radio"
              className="visually-hidden"
              name={name}
              value={option}
              checked={option === value}
              onChange={() => onChange(option)}
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
