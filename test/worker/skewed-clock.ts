// Loaded by Node before a program: the wall clock of the process is wrong by SKEW_MS.
const skew = Number(process.env.SKEW_MS ?? 0);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [RealDate.now() + skew] : args) as [number]));
  }
  static override now(): number {
    return RealDate.now() + skew;
  }
} as DateConstructor;
