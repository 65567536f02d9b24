/** Identity and chance. Never fails; two ids of one store are never alike. */
export interface Ids {
  /** 16 hex digits. */
  runId(): string;
  orderId(): string;
  /** In [0, 1): only for jitter. */
  random(): number;
}
