// The program that is started in place of the agent. It connects the agent to this process through Unix sockets, because a sandbox without a network has
// a loopback of its own and nothing else. It is plain JavaScript that Node runs from the session's folder.

/** Environment and arguments may contain this text; it becomes the address of the model gate. */
export const gateAddress = 'http://127.0.0.1:__RETINUE_GATE_PORT__';

/**
 * `relay.mjs gate SOCKET -- PROGRAM ARGUMENT…`: offers the socket on a loopback port and starts the program with its own standard streams.
 * `relay.mjs stdio SOCKET`: connects its own standard streams to the socket.
 */
export const relaySource = `import { spawn } from 'node:child_process';
import { createConnection, createServer } from 'node:net';
const [kind, socket, , program, ...args] = process.argv.slice(2);
const connect = (stream) => {
  const peer = createConnection(socket);
  for (const each of [peer, stream]) each.on('error', () => { peer.destroy(); stream.destroy?.(); });
  return peer;
};
if (kind === 'stdio') {
  const peer = connect(process.stdout);
  process.stdin.pipe(peer).pipe(process.stdout);
  peer.on('close', () => process.exit(0));
} else {
  const server = createServer((client) => { const peer = connect(client); client.pipe(peer).pipe(client); });
  server.listen(0, '127.0.0.1', () => {
    const fill = (text) => text.replaceAll('__RETINUE_GATE_PORT__', String(server.address().port));
    const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, fill(value)]));
    const child = spawn(program, args.map(fill), { stdio: 'inherit', env });
    child.on('error', (error) => { process.stderr.write(error.message + '\\n'); process.exit(127); });
    child.on('exit', (code, signal) => process.exit(signal ? 128 : code));
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  });
}
`;
