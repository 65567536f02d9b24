/** Calls `run` once in the next animation frame, however often it is asked to. */
export function createFrameScheduler(run: () => void): { schedule(): void; cancel(): void } {
  let handle: number | null = null;
  return {
    schedule() {
      handle ??= requestAnimationFrame(() => {
        handle = null;
        run();
      });
    },
    cancel() {
      if (handle !== null) cancelAnimationFrame(handle);
      handle = null;
    },
  };
}
