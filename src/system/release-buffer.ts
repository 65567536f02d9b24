/** Frees the memory of a chunk at once. Otherwise a process that writes much leaves hundreds of megabytes to the garbage collector. */
export function releaseBuffer(chunk: Buffer): void {
  if (chunk.byteLength === chunk.buffer.byteLength && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
}
