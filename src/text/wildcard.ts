// The patterns of rules: `*` matches any characters, `?` one UTF-16 unit. `**/` at the start of a name matches any folders, also none, so
// `**/.env` matches `.env` and `a/b/.env`. Every function takes at most pattern length times text length steps.

/** A pattern that ends in a blank and `*` also matches without them: `git log *` matches `git log`. */
export function matchesWildcard(pattern: string, text: string): boolean {
  return matchesWhole(pattern, text) || (pattern.endsWith(' *') && matchesWhole(pattern.slice(0, -2), text));
}

function matchesWhole(pattern: string, text: string): boolean {
  if (!folders.test(pattern)) return matchesPlain(pattern, text);
  const tokens = tokenize(pattern);
  return readText(tokens, text).has(tokens.length);
}

/** Whether some text that begins with `start` matches. */
export function canMatchFrom(pattern: string, start: string): boolean {
  return readText(tokenize(pattern), start).size > 0;
}

/** Whether every text that begins with `start` matches. */
export function matchesAllFrom(pattern: string, start: string): boolean {
  const tokens = tokenize(pattern);
  const end = tokens.findLastIndex((token) => token !== star) + 1;
  return end < tokens.length && [...readText(tokens, start)].some((state) => state >= end && state < tokens.length);
}

/** The characters before the first wildcard. */
export function literalStart(pattern: string): string {
  return pattern.split(/[*?]/, 1)[0] as string;
}

const folders = /(?:^|\/)\*\*\//;
const star = Symbol('any characters');
const one = Symbol('one character');
const anyFolders = Symbol('any folders');
type Token = string | typeof star | typeof one | typeof anyFolders;

/** After a mismatch only the last `*` is extended, because extending an earlier one cannot help. */
function matchesPlain(pattern: string, text: string): boolean {
  let p = 0;
  let last = -1;
  let resume = 0;
  for (let t = 0; t < text.length; ) {
    if (pattern[p] === '*') {
      last = p++;
      resume = t;
    } else if (pattern[p] === '?' || pattern[p] === text[t]) {
      p++;
      t++;
    } else if (last !== -1) {
      p = last + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

function tokenize(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] as string;
    if ((at === 0 || pattern[at - 1] === '/') && pattern.startsWith('**/', at)) {
      tokens.push(anyFolders);
      at += 2;
    } else if (char === '*') {
      if (tokens.at(-1) !== star) tokens.push(star);
    } else tokens.push(char === '?' ? one : char);
  }
  return tokens;
}

/** The states after `text`: how many tokens are matched. Empty if nothing that begins with `text` can match. */
function readText(tokens: Token[], text: string): Set<number> {
  let states = new Set<number>();
  enterState(tokens, 0, states);
  for (let at = 0; at < text.length && states.size > 0; at++) {
    const char = text[at] as string;
    const next = new Set<number>();
    for (const state of states) {
      const token = tokens[state];
      if (token === star) enterState(tokens, state, next);
      else if (token === anyFolders) {
        // In the middle of a name the folders cannot end yet.
        next.add(state);
        if (char === '/') enterState(tokens, state + 1, next);
      } else if (token === one || token === char) enterState(tokens, state + 1, next);
    }
    states = next;
  }
  return states;
}

function enterState(tokens: Token[], from: number, states: Set<number>): void {
  let state = from;
  while (tokens[state] === star || tokens[state] === anyFolders) states.add(state++);
  states.add(state);
}
