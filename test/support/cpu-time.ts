/** Milliseconds of computing that synchronous work takes in this process. Unlike time on the clock, it is the same on a busy machine. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
