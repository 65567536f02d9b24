import type { ReactNode } from 'react';
import { CodeBlock } from './text.tsx';

interface ArgumentListProps {
  /** As `listArguments` gives them: safe to show. */
  fields: { name: string; text: string }[];
  /** More lines of a value are folded away. */
  maxLines?: number;
}

/** The arguments of a call. Names and values are apart, so that no value can imitate another argument. */
export function ArgumentList({ fields, maxLines = 16 }: ArgumentListProps): ReactNode {
  if (fields.length === 0) return <p className="muted">no arguments</p>;
  return (
    <dl className="arguments">
      {fields.map(({ name, text }) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            {text.includes('\n') || text.length > 120 ? (
              <CodeBlock text={text} label={name === '' ? 'Arguments' : name} maxLines={maxLines} canCopy isExact />
            ) : (
              <code className="argument-value">{text === '' ? <em className="muted">empty</em> : text}</code>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
