// A TCP proxy before a PostgreSQL server that cuts or holds connections at chosen moments.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export type Direction = 'to server' | 'to client';

export interface ServerProxy {
  /** The address of the server, through the proxy. */
  url: string;
  /**
   * Called with each piece of data. `cut`: the piece and all connections are lost; `pass then cut`: the piece still arrives. `hold`: it and everything
   * after it on this connection waits until `release`.
   */
  onData: (direction: Direction, piece: Buffer) => 'pass' | 'cut' | 'pass then cut' | 'hold';
  /** Cuts all connections. */
  cutAll(): void;
  /** Refuses new connections. */
  isDown: boolean;
  release(): void;
  close(): Promise<void>;
}

export async function createProxy(serverUrl: string): Promise<ServerProxy> {
  const target = new URL(serverUrl);
  const [port, host] = [Number(target.port), target.hostname];
  const sockets = new Set<Socket>();
  let held: (() => void)[] = [];
  const server = createServer((client) => {
    if (proxy.isDown) return void client.destroy();
    const upstream = connect(port, host);
    link(client, upstream, 'to server');
    link(upstream, client, 'to client');
  });

  function link(from: Socket, to: Socket, direction: Direction): void {
    sockets.add(from);
    let isHeld = false;
    const waiting: Buffer[] = [];
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      if (!isHeld) to.destroy();
    });
    from.on('data', (piece) => {
      if (isHeld) return void waiting.push(piece);
      const verdict = proxy.onData(direction, piece);
      if (verdict === 'cut') return cutAll();
      if (verdict === 'hold') {
        isHeld = true;
        waiting.push(piece);
        held.push(() => {
          isHeld = false;
          for (const each of waiting.splice(0)) to.write(each);
        });
        return;
      }
      if (verdict === 'pass') return void to.write(piece);
      to.write(piece, () => setTimeout(cutAll, 20));
    });
  }

  function cutAll(): void {
    for (const socket of sockets) socket.destroy();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.port = String((server.address() as { port: number }).port);
  const proxy: ServerProxy = {
    url: target.href,
    onData: () => 'pass',
    isDown: false,
    cutAll,
    release() {
      for (const each of held) each();
      held = [];
    },
    async close() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
