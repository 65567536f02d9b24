// Sends an answer, with the faults that the step asks for.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Fault, ProviderStep, Wire, WireEvent } from './types.ts';

type FaultOf<K extends Fault['kind']> = Extract<Fault, { kind: K }>;

/** Resolves when everything is sent or the client has disconnected. */
export async function sendAnswer(response: ServerResponse, wire: Wire, parts: { step: ProviderStep; answer: Answer; streamed: boolean }) {
  const { step, answer, streamed } = parts;
  const { fault } = step;
  const disconnected = new Promise<void>((resolve) => response.once('close', resolve));
  if (step.delayMs !== undefined) await Promise.race([sleep(step.delayMs), disconnected]);
  if (response.destroyed) return;
  if (fault?.kind === 'no-first-byte') return disconnected;
  if (fault?.kind === 'reset' && fault.when !== 'middle') return void response.destroy();
  if (fault?.kind === 'status') return sendStatus(response, wire, fault);
  if (fault?.kind === 'redirect') return void response.writeHead(307, { location: fault.to }).end();
  if (!streamed) return sendWhole(response, wire.whole(answer), fault);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  if (fault?.kind === 'ping-only') return sendPings(response, wire, fault.everyMs ?? 20);
  if (fault?.kind === 'huge-line') return sendHugeLine(response, fault.bytes ?? 100 * 1024 * 1024, disconnected);
  await sendEvents(response, wire, { events: wire.events(answer), step, disconnected });
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

async function sendHugeLine(response: ServerResponse, bytes: number, disconnected: Promise<void>): Promise<void> {
  const chunk = Buffer.alloc(65_536, 'x');
  response.write('data: "');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += chunk.length) {
    if (response.write(chunk)) continue;
    await Promise.race([once(response, 'drain').catch(() => {}), disconnected]);
  }
  response.end();
}

async function sendEvents(
  response: ServerResponse,
  wire: Wire,
  { events, step, disconnected }: { events: WireEvent[]; step: ProviderStep; disconnected: Promise<void> },
): Promise<void> {
  const { fault, chunkDelayMs } = step;
  const content = events.filter((event) => event.part === 'content').length;
  const cutAfter = fault && ['half', 'stall', 'reset', 'malformed-event'].includes(fault.kind) ? Math.ceil(content / 2) : null;
  let sent = 0;
  const untilEnd = events.filter((event) => event.part !== 'end');
  for (const event of untilEnd) {
    if (cutAfter !== null && event.part === 'content' && sent++ === cutAfter) break;
    if (chunkDelayMs !== undefined) await Promise.race([sleep(chunkDelayMs), disconnected]);
    if (response.destroyed) return;
    await writeText(response, formatEvent(event), fault);
  }
  if (fault?.kind === 'error-event') {
    const { status, message = `the scripted error ${status}`, type } = fault;
    await writeText(response, formatEvent(wire.errorEvent({ status, message, ...(type === undefined ? {} : { type }) })), fault);
    return void response.end();
  }
  if (fault?.kind === 'stall') return fault.pings ? sendPings(response, wire, 20) : disconnected;
  if (fault?.kind === 'half') return void response.end();
  if (fault?.kind === 'reset') {
    await sleep(10); // gives the data written before time to leave
    return void response.destroy();
  }
  if (fault?.kind === 'malformed-event') await writeText(response, 'data: {"not json\n\n', fault);
  for (const event of events) if (event.part === 'end') await writeText(response, formatEvent(event), fault);
  response.end(wire.done);
}

function formatEvent({ name, data }: WireEvent): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

async function writeText(response: ServerResponse, text: string, fault: Fault | undefined): Promise<void> {
  const bytes = Buffer.from(text);
  if (fault?.kind !== 'split-utf8') return void response.write(bytes);
  let from = 0;
  for (let at = 1; at < bytes.length; at++) {
    if (((bytes[at] as number) & 0xc0) !== 0x80) continue; // split only inside a character
    response.write(bytes.subarray(from, at));
    from = at;
    await sleep(2);
  }
  response.write(bytes.subarray(from));
}
