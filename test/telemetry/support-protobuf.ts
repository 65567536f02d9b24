// Decodes the OTLP protobuf of traces, independently of the code that encodes it. Field numbers are those of opentelemetry-proto.
import type { ReceivedSpan } from './support.ts';

type Field = { id: number; value: bigint | Buffer };

function* readFields(bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const id = key >> 3;
    const kind = key & 7;
    if (kind === 0) yield { id, value: varint() };
    else {
      const size = kind === 1 ? 8 : kind === 5 ? 4 : Number(varint());
      yield { id, value: bytes.subarray(at, at + size) };
      at += size;
    }
  }
}

const all = (bytes: Buffer, id: number) => [...readFields(bytes)].filter((field) => field.id === id).map((field) => field.value as Buffer);
const text = (bytes: Buffer, id: number) => all(bytes, id)[0]?.toString() ?? '';
const hex = (bytes: Buffer, id: number) => all(bytes, id)[0]?.toString('hex') ?? '';
const number = (bytes: Buffer, id: number) => Number([...readFields(bytes)].find((field) => field.id === id)?.value ?? 0);
const milliseconds = (bytes: Buffer, id: number) => Number((all(bytes, id)[0] as Buffer).readBigUInt64LE() / 1_000_000n);

function readAny(bytes: Buffer): unknown {
  const [field] = readFields(bytes);
  if (!field) return null;
  const { id, value } = field;
  if (id === 1) return (value as Buffer).toString();
  if (id === 2) return value === 1n;
  if (id === 3) return Number(BigInt.asIntN(64, value as bigint));
  if (id === 4) return (value as Buffer).readDoubleLE();
  if (id === 5) return all(value as Buffer, 1).map(readAny);
  throw new Error(`unexpected kind of value: ${id}`);
}

function readAttributes(bytes: Buffer, id: number): Record<string, unknown> {
  return Object.fromEntries(all(bytes, id).map((pair) => [text(pair, 1), readAny(all(pair, 2)[0] as Buffer)]));
}

export function decodeProtobuf(body: Buffer): ReceivedSpan[] {
  return all(body, 1).flatMap((group) => {
    const resource = readAttributes(all(group, 1)[0] as Buffer, 1);
    return all(group, 2).flatMap((scope) =>
      all(scope, 2).map((span) => {
        const status = all(span, 15)[0] ?? Buffer.alloc(0);
        return {
          traceId: hex(span, 1),
          spanId: hex(span, 2),
          traceState: text(span, 3),
          parentId: hex(span, 4) || null,
          name: text(span, 5),
          kind: number(span, 6),
          start: milliseconds(span, 7),
          end: milliseconds(span, 8),
          attributes: readAttributes(span, 9),
          events: all(span, 11).map((event) => text(event, 2)),
          links: all(span, 13).map((link) => `${hex(link, 1)}/${hex(link, 2)}`),
          isError: number(status, 3) === 2,
          message: text(status, 2),
          resource,
        };
      }),
    );
  });
}
