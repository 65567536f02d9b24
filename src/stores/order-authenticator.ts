// Signs and checks orders and runs with a secret key. Orders: HMAC-SHA-256 over the canonical JSON of the order, which includes who gave it. Runs:
// SHA-256 over the head of the run between two copies of the key, in one call, because every append does it.
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Order } from '../contract/order.ts';
import type { OrderAuthenticator, RunHead } from '../ports/store.ts';
import { canonical } from '../text/canonical.ts';

/** Separates these tags from other uses of the same key. */
const purpose = 'retinue order 1\n';
const runPurpose = 'retinue run 1\n';
const secretPurpose = 'retinue secret 1\n';
const tagBytes = 32;

export interface KeySource {
  /** Null if there is no key yet. */
  read(): Uint8Array | null;
  create(): Uint8Array;
}

/** The key is loaded at the first use. Giving an order and writing facts create one. */
export function createOrderAuthenticator(source: KeySource): OrderAuthenticator {
  let key: Uint8Array | null = null;
  let keyText = '';
  /** The key cannot be read or created, which is not tried again for each append. */
  let hasFailed = false;

  function createTag(order: Order, secret: Uint8Array): Buffer {
    return createHmac('sha256', secret).update(purpose).update(canonical(order)).digest();
  }

  function createRunTag({ runId, seq, hash: last, orders }: RunHead, secret: Uint8Array): string {
    if (keyText === '') keyText = Buffer.from(secret).toString('hex');
    return hash('sha256', `${keyText}${runPurpose}${JSON.stringify([runId, seq, last, orders])}${keyText}`);
  }

  function readKey(): Uint8Array | null {
    try {
      key ??= source.read();
    } catch {
      return null;
    }
    return key;
  }

  return {
    sign(order) {
      key ??= source.read() ?? source.create();
      return createTag(order, key).toString('hex');
    },
    isAuthentic(order, tag) {
      const secret = readKey();
      const given = Buffer.from(tag, 'hex');
      return secret !== null && given.length === tagBytes && timingSafeEqual(createTag(order, secret), given);
    },
    signRun(head) {
      if (hasFailed) return null;
      try {
        key ??= source.read() ?? source.create();
        return createRunTag(head, key);
      } catch {
        hasFailed = true;
        return null;
      }
    },
    isRunAuthentic(head, tag) {
      const secret = readKey();
      const given = Buffer.from(tag, 'hex');
      return secret !== null && given.length === tagBytes && timingSafeEqual(Buffer.from(createRunTag(head, secret), 'hex'), given);
    },
    hasKey: () => readKey() !== null,
    identify(secret) {
      const own = readKey();
      return own === null ? null : createHmac('sha256', own).update(secretPurpose).update(secret).digest('hex').slice(0, 32);
    },
  };
}
