import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

interface FollowEnd {
  /** For an element at the end of the content. */
  end: RefObject<HTMLDivElement | null>;
  isAtEnd: boolean;
  jump(): void;
}

const tolerance = 80;

/** While the reader is at the end of a page that grows, it stays there; a reader who has scrolled up is left alone. */
export function useFollowEnd(version: number, isGrowing: boolean): FollowEnd {
  const end = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const follows = useRef(false);
  useEffect(() => {
    const update = () => {
      const bottom = end.current?.getBoundingClientRect().bottom ?? 0;
      const isNear = bottom <= window.innerHeight + tolerance;
      // A page that fits the window is at its end, but does not move until somebody scrolls there.
      follows.current = isNear && window.scrollY > 0;
      setAtEnd(isNear);
    };
    update();
    window.addEventListener('scroll', update, { passive: true });
    window.addEventListener('resize', update);
    return () => {
      window.removeEventListener('scroll', update);
      window.removeEventListener('resize', update);
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the content has grown when the version changes.
  useLayoutEffect(() => {
    if (isGrowing && follows.current) end.current?.scrollIntoView({ block: 'end' });
  }, [version, isGrowing]);
  const jump = useCallback(() => {
    follows.current = true;
    end.current?.scrollIntoView({ block: 'end' });
  }, []);
  return { end, isAtEnd, jump };
}
