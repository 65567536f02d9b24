// Signs and checks orders with a secret key: HMAC-SHA-256 over the canonical JSON of the order, which includes who gave it.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Order } from '../contract/order.ts';
import type { OrderAuthenticator } from '../ports/store.ts';
import { canonical } from '../text/canonical.ts';

/** Separates these tags from other uses of the same key. */
const purpose = 'retinue order 1\n';
const tagBytes = 32;

export interface KeySource {
  /** Null if there is no key yet. */
  read(): Uint8Array | null;
  create(): Uint8Array;
}

/** The key is loaded at the first use. Only giving an order creates one. */
export function createOrderAuthenticator(source: KeySource): OrderAuthenticator {
  let key: Uint8Array | null = null;

  function createTag(order: Order, secret: Uint8Array): Buffer {
    return createHmac('sha256', secret).update(purpose).update(canonical(order)).digest();
  }

  return {
    sign(order) {
      key ??= source.read() ?? source.create();
      return createTag(order, key).toString('hex');
    },
    isAuthentic(order, tag) {
      try {
        key ??= source.read();
      } catch {
        return false;
      }
      const given = Buffer.from(tag, 'hex');
      return key !== null && given.length === tagBytes && timingSafeEqual(createTag(order, key), given);
    },
  };
}
