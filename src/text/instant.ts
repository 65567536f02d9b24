// Conversions between milliseconds since the epoch and ISO 8601. They never read the clock.

export function msToIso(ms: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: formats a given moment, does not read the clock
  return new Date(ms).toISOString();
}

export function isoToMs(iso: string): number {
  // biome-ignore lint/style/noRestrictedGlobals: parses a given moment, does not read the clock
  return Date.parse(iso);
}
