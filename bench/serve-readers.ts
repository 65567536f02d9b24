// Many readers of one event stream, in a process of its own: `node serve-readers.ts URL TOKEN COUNT`. Prints `ready` when all are connected. When its
// input ends, it prints what they received. The first reader measures how old each fact is when it arrives.
import { get, type IncomingMessage } from 'node:http';

export interface ReaderFigures {
  /** Milliseconds from the time of a fact to its arrival. */
  delays: number[];
  bytes: number;
  /** Readers that were disconnected. */
  cut: number;
}

const [url = '', token = '', count = '1'] = process.argv.slice(2);
const figures: ReaderFigures = { delays: [], bytes: 0, cut: 0 };
let isEnding = false;

function connect(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}/api/events`, { headers: { authorization: `Bearer ${token}` }, agent: false }, resolve);
    request.on('error', reject);
  });
}

function measureDelays(stream: IncomingMessage): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const now = Date.now();
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const at = line.startsWith('data: {"runId"') ? /"at":"([^"]+)"/.exec(line)?.[1] : undefined;
      if (at !== undefined) figures.delays.push(now - Date.parse(at));
    }
  });
}

const streams = await Promise.all(Array.from({ length: Number(count) }, connect));
for (const [i, stream] of streams.entries()) {
  if (i === 0) measureDelays(stream);
  else
    stream.on('data', (part: Buffer) => {
      figures.bytes += part.length;
    });
  stream
    .on('error', () => {})
    .on('close', () => {
      if (!isEnding) figures.cut++;
    });
}
process.stdout.write('ready\n');
for await (const _ of process.stdin) {
  // Waits for the end of the input.
}
isEnding = true;
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
