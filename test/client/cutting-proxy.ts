// A proxy in front of a server that cuts connections after a number of bytes.
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CuttingProxy {
  url: string;
  cuts(): number;
  close(): Promise<void>;
}

/** `nextCut`: after how many bytes of its body an event stream is cut; null: not at all. Other answers are passed on whole. */
export async function startCuttingProxy(target: string, nextCut: () => number | null): Promise<CuttingProxy> {
  const { hostname, port, host } = new URL(target);
  let cuts = 0;
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, host };
    const forwarded = request({ hostname, port, path: incoming.url, method: incoming.method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode as number, answer.headers);
      let left = answer.headers['content-type']?.startsWith('text/event-stream') ? nextCut() : null;
      answer.on('data', (chunk: Buffer) => {
        if (left === null || chunk.length < left) {
          if (left !== null) left -= chunk.length;
          outgoing.write(chunk);
          return;
        }
        cuts++;
        answer.removeAllListeners('data');
        answer.destroy();
        outgoing.write(chunk.subarray(0, left), () => outgoing.destroy());
      });
      answer.on('end', () => outgoing.end());
      answer.on('error', () => outgoing.destroy());
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
