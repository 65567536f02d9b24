/** Gives the memory back at once: of a process that writes much, some hundred megabytes would else wait for the collector. */
export function free(chunk: Buffer): void {
  if (chunk.byteLength === chunk.buffer.byteLength && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
}
