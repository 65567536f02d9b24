// A client for `channel_binding=require`. The client of `pg` uses channel binding if the server offers it; this one refuses servers that do not, before it
// answers with anything that is derived from the password.
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';

type PgConnection = EventEmitter & { stream: Socket };

const boundMechanism = 'SCRAM-SHA-256-PLUS';

export class BoundClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: PgConnection };
    let isBound = false;
    const assertBound = () => {
      if (isBound) return;
      const error = new Error('the server does not offer channel binding');
      connection.emit('error', error);
      connection.stream.destroy(error);
    };
    connection.on('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
      isBound = mechanisms.includes(boundMechanism);
      assertBound();
    });
    for (const other of ['authenticationCleartextPassword', 'authenticationMD5Password', 'authenticationOk'])
      connection.on(other, assertBound);
  }
}
