// Loads again after changes: soon after the first one, then at most once per interval, and never twice at the same time. `load` never rejects.
export interface ThrottledLoader {
  request(): void;
  close(): void;
}

export function createThrottledLoader(
  load: () => Promise<void>,
  { soonMs, intervalMs }: { soonMs: number; intervalMs: number },
): ThrottledLoader {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isLoading = false;
  let isDue = false;
  let isClosed = false;
  let lastAt = Number.NEGATIVE_INFINITY;

  function request(): void {
    if (isClosed) return;
    isDue = true;
    if (isLoading || timer !== null) return;
    timer = setTimeout(run, Math.max(soonMs, lastAt + intervalMs - performance.now()));
  }

  function run(): void {
    timer = null;
    isDue = false;
    isLoading = true;
    lastAt = performance.now();
    void load().finally(() => {
      isLoading = false;
      if (isDue) request();
    });
  }

  return {
    request,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
