// The output of a command in bounded memory.
const headBytes = 1024 * 1024;
const tailBytes = 1024 * 1024;

/** Keeps the beginning and the end of a command's output in bounded memory. */
export class BoundedOutput {
  #head: Buffer = Buffer.alloc(0);
  #kept = 0;
  /** A ring buffer; once it is full, `#next` is the position of the oldest byte. */
  #tail: Buffer | null = null;
  #next = 0;
  total = 0;

  add(chunk: Buffer): void {
    this.total += chunk.length;
    const first = chunk.subarray(0, headBytes - this.#kept);
    if (first.length > 0) this.#addHead(first);
    if (first.length < chunk.length) this.#addTail(chunk.subarray(first.length));
  }

  text(): string {
    const head = this.#head.subarray(0, this.#kept);
    const rest = this.total - this.#kept;
    if (rest === 0) return head.toString('utf8');
    const tail = this.#tail as Buffer;
    if (rest <= tailBytes) return Buffer.concat([head, tail.subarray(0, rest)]).toString('utf8');
    const last = Buffer.concat([tail.subarray(this.#next), tail.subarray(0, this.#next)]);
    return `${decodeWholeCharacters(head)}\n[… ${rest - tailBytes} of ${this.total} bytes left out …]\n${last.toString('utf8', findCharacterStart(last))}`;
  }

  /** Copies the chunk, because a small chunk may keep a large buffer alive. */
  #addHead(chunk: Buffer): void {
    if (this.#kept + chunk.length > this.#head.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(headBytes, Math.max(65_536, 2 * (this.#kept + chunk.length))));
      this.#head.copy(larger, 0, 0, this.#kept);
      this.#head = larger;
    }
    chunk.copy(this.#head, this.#kept);
    this.#kept += chunk.length;
  }

  #addTail(chunk: Buffer): void {
    this.#tail ??= Buffer.allocUnsafeSlow(tailBytes);
    let left = chunk.subarray(Math.max(0, chunk.length - tailBytes));
    while (left.length > 0) {
      const copied = left.copy(this.#tail, this.#next);
      this.#next = (this.#next + copied) % tailBytes;
      left = left.subarray(copied);
    }
  }
}

/** Drops a character that is cut off at the end. */
function decodeWholeCharacters(bytes: Buffer): string {
  let end = bytes.length;
  while (end > 0 && end > bytes.length - 4 && ((bytes[end - 1] as number) & 0xc0) === 0x80) end--;
  const lead = bytes[end - 1] ?? 0;
  const needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.toString('utf8', 0, bytes.length - end + 1 < needs ? end - 1 : bytes.length);
}

/** Skips the rest of a character that is cut off at the beginning. */
function findCharacterStart(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && ((bytes[start] as number) & 0xc0) === 0x80) start++;
  return start;
}
