// Conversions between moments. They format and parse given moments and never read the machine's clock.

export function msToIso(ms: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: formats a given moment, does not read the clock
  return new Date(ms).toISOString();
}

export function isoToMs(iso: string): number {
  // biome-ignore lint/style/noRestrictedGlobals: parses a given moment, does not read the clock
  return Date.parse(iso);
}
