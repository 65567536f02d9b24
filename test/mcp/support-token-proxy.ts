// A proxy on loopback that adds a bearer token, for programs that cannot send one. Its own address in the headers Host and Origin becomes the server's; foreign
// values pass unchanged.
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export async function startTokenProxy(target: string, token: string): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const { host } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const replace = (value: string | undefined) => value?.replace(own, host).replace(own.replace('127.0.0.1', 'localhost'), host);
    const headers = { ...incoming.headers, authorization: `Bearer ${token}`, host: replace(incoming.headers.host) ?? host };
    if (headers.origin !== undefined) headers.origin = replace(headers.origin) as string;
    const passed = request(`${target}${incoming.url}`, { method: incoming.method as string, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode as number, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
