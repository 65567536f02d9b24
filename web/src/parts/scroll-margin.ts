import { type RefObject, useLayoutEffect, useState } from 'react';

/** The distance of an element from the top of the document, for lists that scroll with the window. It changes with the size of what is above. */
export function useScrollMargin(element: RefObject<HTMLElement | null>): number {
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      if (element.current !== null) setMargin(Math.round(element.current.getBoundingClientRect().top + window.scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return margin;
}
