// Files of flows are loaded under a path that has their version, so that one process can load two versions of a file.

export const virtualRoot = '/@retinue-flow/';

export function toVirtualPath(version: string, file: string): string {
  return `${virtualRoot}${version}${file}`;
}

/** The version and the real path of a virtual one; null for any other path. */
export function fromVirtualPath(path: string): { version: string; file: string } | null {
  if (!path.startsWith(virtualRoot)) return null;
  const rest = path.slice(virtualRoot.length);
  const slash = rest.indexOf('/');
  return slash < 0 ? null : { version: rest.slice(0, slash), file: rest.slice(slash) };
}

/** `review.ts:12` from the first frame of a stack that has a file. */
export function shortenLine(stack: string): string {
  const frame = /\(?(?:file:\/\/)?([^()\s]+):(\d+):\d+\)?$/m.exec(stack);
  if (!frame) return 'an unknown line';
  return `${(frame[1] as string).split(/[\\/]/).at(-1)}:${frame[2]}`;
}
