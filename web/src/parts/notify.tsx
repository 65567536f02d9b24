// Short messages about the result of an action.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';
import type { Tone } from './status.tsx';

interface Notice {
  id: number;
  text: string;
  tone: Tone;
}

const shownMs = 6_000;
const maxNotices = 3;
const Notify = createContext<(text: string, tone?: Tone) => void>(() => {});

/** `notify('cancelled')`. Errors stay until they are closed. */
export function useNotify(): (text: string, tone?: Tone) => void {
  return useContext(Notify);
}

export function NotifyProvider({ children }: { children: ReactNode }): ReactNode {
  const [notices, setNotices] = useState<Notice[]>([]);
  const next = useRef(0);
  const remove = useCallback((id: number) => setNotices((old) => old.filter((each) => each.id !== id)), []);
  const notify = useCallback(
    (text: string, tone: Tone = 'ok') => {
      const id = next.current++;
      setNotices((old) => [...old.slice(1 - maxNotices), { id, text, tone }]);
      if (tone !== 'error') setTimeout(() => remove(id), shownMs);
    },
    [remove],
  );
  const list = useMemo(
    () => (
      <div className="notices" role="status" aria-live="polite">
        {notices.map(({ id, text, tone }) => (
          <div key={id} className={`notice tone-${tone}`}>
            <span>{text}</span>
            <button type="button" aria-label="Dismiss" onClick={() => remove(id)}>
              ✕
            </button>
          </div>
        ))}
      </div>
    ),
    [notices, remove],
  );
  return (
    <Notify value={notify}>
      {children}
      {list}
    </Notify>
  );
}
