// Sending an answer, with whatever is to go wrong on the way.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Fault, ProviderStep, Wire, WireEvent } from './types.ts';

type FaultOf<K extends Fault['kind']> = Extract<Fault, { kind: K }>;

/** Resolves when nothing more will be sent; a client that goes away ends it early. */
export async function send(response: ServerResponse, wire: Wire, parts: { step: ProviderStep; answer: Answer; streamed: boolean }) {
  const { step, answer, streamed } = parts;
  const { fault } = step;
  const gone = new Promise<void>((resolve) => response.once('close', resolve));
  if (step.delayMs !== undefined) await Promise.race([sleep(step.delayMs), gone]);
  if (response.destroyed) return;
  if (fault?.kind === 'no-first-byte') return gone;
  if (fault?.kind === 'reset' && fault.when !== 'middle') return void response.destroy();
  if (fault?.kind === 'status') return sendStatus(response, wire, fault);
  if (fault?.kind === 'redirect') return void response.writeHead(307, { location: fault.to }).end();
  if (!streamed) return sendWhole(response, wire.whole(answer), fault);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  if (fault?.kind === 'ping-only') return sendPings(response, wire, fault.everyMs ?? 20);
  if (fault?.kind === 'huge-line') return sendHugeLine(response, fault.bytes ?? 100 * 1024 * 1024, gone);
  await sendEvents(response, wire, { events: wire.events(answer), step, gone });
}

function sendStatus(response: ServerResponse, wire: Wire, fault: FaultOf<'status'>): void {
  const { status, message = `the scripted status ${status}`, retryAfter, retryAfterMs } = fault;
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  if (retryAfterMs !== undefined) response.setHeader('retry-after-ms', String(retryAfterMs));
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(wire.error({ status, message })));
}

function sendWhole(response: ServerResponse, body: unknown, fault: Fault | undefined): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json' });
  if (fault?.kind === 'half' || fault?.kind === 'malformed-event') response.end(text.slice(0, text.length / 2));
  else if (fault?.kind === 'reset') response.write(text.slice(0, text.length / 2), () => response.destroy());
  else response.end(text);
}

async function sendPings(response: ServerResponse, wire: Wire, everyMs: number): Promise<void> {
  while (!response.destroyed) {
    response.write(wire.ping);
    await sleep(everyMs);
  }
}

async function sendHugeLine(response: ServerResponse, bytes: number, gone: Promise<void>): Promise<void> {
  const chunk = Buffer.alloc(65_536, 'x');
  response.write('data: "');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += chunk.length) {
    if (response.write(chunk)) continue;
    await Promise.race([once(response, 'drain').catch(() => {}), gone]);
  }
  response.end();
}

async function sendEvents(
  response: ServerResponse,
  wire: Wire,
  { events, step, gone }: { events: WireEvent[]; step: ProviderStep; gone: Promise<void> },
): Promise<void> {
  const { fault, chunkDelayMs } = step;
  const content = events.filter((event) => event.part === 'content').length;
  const cut = fault && ['half', 'stall', 'reset', 'malformed-event'].includes(fault.kind) ? Math.ceil(content / 2) : null;
  let sent = 0;
  const begin = events.filter((event) => event.part !== 'end');
  for (const event of begin) {
    if (cut !== null && event.part === 'content' && sent++ === cut) break;
    if (chunkDelayMs !== undefined) await Promise.race([sleep(chunkDelayMs), gone]);
    if (response.destroyed) return;
    await write(response, rendered(event), fault);
  }
  if (fault?.kind === 'error-event') {
    const { status, message = `the scripted error ${status}`, type } = fault;
    await write(response, rendered(wire.errorEvent({ status, message, ...(type === undefined ? {} : { type }) })), fault);
    return void response.end();
  }
  if (fault?.kind === 'stall') return fault.pings ? sendPings(response, wire, 20) : gone;
  if (fault?.kind === 'half') return void response.end();
  if (fault?.kind === 'reset') {
    await sleep(10); // what was written before should be on its way
    return void response.destroy();
  }
  if (fault?.kind === 'malformed-event') await write(response, 'data: {"not json\n\n', fault);
  for (const event of events) if (event.part === 'end') await write(response, rendered(event), fault);
  response.end(wire.done);
}

function rendered({ name, data }: WireEvent): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

async function write(response: ServerResponse, text: string, fault: Fault | undefined): Promise<void> {
  const bytes = Buffer.from(text);
  if (fault?.kind !== 'split-utf8') return void response.write(bytes);
  let from = 0;
  for (let at = 1; at < bytes.length; at++) {
    if (((bytes[at] as number) & 0xc0) !== 0x80) continue; // only inside a character
    response.write(bytes.subarray(from, at));
    from = at;
    await sleep(2);
  }
  response.write(bytes.subarray(from));
}
