// Limits of time that are about work. Time on the clock also has the work of other programs in it; these measures are the same on a busy machine.

/** Milliseconds of computing that synchronous work takes in this process. */
export function cpuMs(work: () => void): number {
  const read = startCpuTimer();
  work();
  return read();
}

/** Returns a function that says how many milliseconds all threads of this process have computed since. */
export function startCpuTimer(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}

export interface LoopTimes {
  /** How much time passed for the event loop: computing, and waiting while it could have run. Time in which it waited for a processor does not count. */
  passedMs: number;
  /** The longest computing of the thread between two turns of the event loop. */
  longestTurnMs: number;
}

const beatMs = 10;

/** Measures the event loop of this thread until the returned function is called. */
export function watchEventLoop(): () => LoopTimes {
  const times: LoopTimes = { passedMs: 0, longestTurnMs: 0 };
  let last = performance.now();
  let cpu = process.threadCpuUsage();
  const measure = () => {
    const now = performance.now();
    const { user, system } = process.threadCpuUsage(cpu);
    cpu = process.threadCpuUsage();
    const computedMs = (user + system) / 1000;
    times.longestTurnMs = Math.max(times.longestTurnMs, computedMs);
    // A beat comes in time unless the thread computes, or wants to run and may not.
    times.passedMs += Math.min(now - last, computedMs + 2 * beatMs);
    last = now;
  };
  const beat = setInterval(measure, beatMs);
  return () => {
    clearInterval(beat);
    measure();
    return times;
  };
}
