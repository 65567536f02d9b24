import { createOrderAuthenticator } from '../../../src/stores/order-authenticator.ts';

/** The same in every process of a test. */
export const testAuthenticator = createTestAuthenticator(1);

export function createTestAuthenticator(n: number): ReturnType<typeof createOrderAuthenticator> {
  const key = new Uint8Array(32).fill(n);
  return createOrderAuthenticator({ read: () => key, create: () => key });
}
