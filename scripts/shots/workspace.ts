// The project in the pictures: a small booking service, with the faults that the agents find.
export const files: Record<string, string> = {
  'README.md': '# Harbor\n\nBookings for ferries: an HTTP API on Node with PostgreSQL.\n',
  'package.json':
    '{\n  "name": "harbor",\n  "version": "2.4.0-rc.1",\n  "type": "module",\n  "scripts": { "migrate": "node src/db/migrate.ts" }\n}\n',
  'src/http/routes.ts': `import { createBooking, cancelBooking } from '../bookings/store.ts';
import { readSession } from '../auth/session.ts';

export const routes = {
  'POST /bookings': async (request: Request) => createBooking(await readSession(request), await request.json()),
  'DELETE /bookings/:id': async (request: Request, id: string) => cancelBooking(await readSession(request), id),
  'GET /health': async () => new Response('ok'),
};
`,
  'src/auth/session.ts': `const maxAgeMs = 30 * 24 * 3_600_000;

export function isExpired(session: { createdAt: number }, now: number): boolean {
  return now - session.createdAt > maxAgeMs;
}

export async function readSession(request: Request): Promise<string> {
  return request.headers.get('cookie') ?? '';
}
`,
  'src/bookings/store.ts': `export async function createBooking(session: string, booking: unknown) {
  return Response.json({ session, booking }, { status: 201 });
}

export async function cancelBooking(session: string, id: string) {
  return Response.json({ session, id });
}
`,
  'src/payments/charge.ts': `import { retry } from './retry.ts';

export async function charge(order: { id: string; cents: number }, gateway: Gateway) {
  return retry(() => gateway.charge(order.cents), { attempts: 5 });
}

export interface Gateway {
  charge(cents: number, key?: string): Promise<{ id: string }>;
}
`,
  'src/payments/retry.ts': `export async function retry<T>(action: () => Promise<T>, { attempts }: { attempts: number }): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action();
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}
`,
  'src/db/migrations/0041_add_rates.sql': 'ALTER TABLE bookings ADD COLUMN rate_cents integer;\n',
  'src/db/migrations/0042_rate_not_null.sql': `ALTER TABLE bookings ALTER COLUMN rate_cents SET NOT NULL;
CREATE INDEX bookings_rate ON bookings (rate_cents);
`,
  // Tests of a real project take their time; without it, tools would be invisible in the timeline.
  'scripts/test.sh': 'sleep 5\necho "$1: 42 tests passed"\n',
  'test/payments.test.ts': "import { retry } from '../src/payments/retry.ts';\n",
};
