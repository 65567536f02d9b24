import { type ReactNode, useEffect, useState } from 'react';
import { Button } from './button.tsx';

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () => {
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <Button variant="quiet" size="small" aria-label={label} onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </Button>
  );
}
