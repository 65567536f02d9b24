/** The result of one check of `retinue doctor`. `broken`: nothing works until it is fixed. */
export interface Check {
  name: string;
  state: 'ok' | 'warning' | 'broken';
  found: string;
  /** What to do; null if nothing. */
  advice: string | null;
}

export function ok(name: string, found: string): Check {
  return { name, state: 'ok', found, advice: null };
}

export function warning(name: string, found: string, advice: string): Check {
  return { name, state: 'warning', found, advice };
}

export function broken(name: string, found: string, advice: string): Check {
  return { name, state: 'broken', found, advice };
}
