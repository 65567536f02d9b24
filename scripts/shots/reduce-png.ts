// Makes a PNG of a page smaller: at most 256 colours, which is what pages with flat colours need. Reads what Chromium writes: 8 bits per channel, RGB
// or RGBA, not interlaced.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

interface Image {
  width: number;
  height: number;
  /** Red, green, blue and alpha of each pixel. */
  pixels: Uint8Array;
}

export function reducePng(png: Buffer): Buffer {
  const image = decode(png);
  const counts = new Map<number, number>();
  const view = new DataView(image.pixels.buffer);
  for (let at = 0; at < image.pixels.length; at += 4) {
    const color = view.getUint32(at);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const palette = choosePalette(counts);
  const indexOf = new Map(palette.map((color, index) => [color, index]));
  for (const color of counts.keys()) if (!indexOf.has(color)) indexOf.set(color, findNearest(color, palette));
  const rows = Buffer.alloc(image.height * (image.width + 1));
  for (let y = 0; y < image.height; y++)
    for (let x = 0; x < image.width; x++)
      rows[y * (image.width + 1) + x + 1] = indexOf.get(view.getUint32(4 * (y * image.width + x))) as number;
  return encode(image, palette, rows);
}

/** The most frequent colours, none of which is nearly the same as a more frequent one. */
function choosePalette(counts: Map<number, number>): number[] {
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color);
  if (sorted.length <= 256) return sorted;
  const palette: number[] = [];
  for (const color of sorted) {
    if (palette.length === 256) break;
    if (palette.every((other) => distance(color, other) > 48)) palette.push(color);
  }
  return palette;
}

function findNearest(color: number, palette: number[]): number {
  let best = 0;
  for (let i = 1; i < palette.length; i++) if (distance(color, palette[i] as number) < distance(color, palette[best] as number)) best = i;
  return best;
}

function distance(a: number, b: number): number {
  let sum = 0;
  for (let shift = 0; shift < 32; shift += 8) sum += (((a >>> shift) & 255) - ((b >>> shift) & 255)) ** 2;
  return sum;
}

function decode(png: Buffer): Image {
  const parts: Buffer[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') {
      [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
      channels = data[9] === 6 ? 4 : 3;
    } else if (type === 'IDAT') parts.push(data);
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const pixels = new Uint8Array(width * height * 4).fill(255);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const from = y * (stride + 1);
    const row = unfilter(raw[from] as number, raw.subarray(from + 1, from + 1 + stride), above, channels);
    for (let x = 0; x < width; x++) pixels.set(row.subarray(x * channels, (x + 1) * channels), 4 * (y * width + x));
    above = row;
  }
  return { width, height, pixels };
}

/** The five filters of PNG, each of which predicts a byte from those to the left and above. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array, channels: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(row.length);
  for (let i = 0; i < row.length; i++) {
    const left = i < channels ? 0 : (out[i - channels] as number);
    const up = above[i] as number;
    const corner = i < channels ? 0 : (above[i - channels] as number);
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] as number;
    out[i] = (row[i] as number) + predicted;
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function encode({ width, height }: Image, palette: number[], rows: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >>> 24, (color >>> 16) & 255, (color >>> 8) & 255]));
  const alpha = Buffer.from(palette.map((color) => color & 255));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', colors),
    chunk('tRNS', alpha),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}
