/** Ids and random numbers. Never fails; ids are unique within a store. */
export interface Ids {
  /** 16 hex digits. */
  runId(): string;
  orderId(): string;
  /** An unpredictable key for HMACs, as hex. */
  key(): string;
  /** In [0, 1). Only for jitter. */
  random(): number;
}
