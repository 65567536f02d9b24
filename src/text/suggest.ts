// Suggestions for unknown names: the name that a person or a model most likely meant.

const maxListed = 12;

/** The best candidate: the shortest that begins with the word, otherwise the nearest within a third of the word's length in edits, at least one. */
export function nearestName(word: string, candidates: readonly string[]): string | null {
  const wanted = word.toLowerCase();
  const completions = candidates.filter((candidate) => wanted.length > 1 && candidate.toLowerCase().startsWith(wanted));
  if (completions.length > 0) return completions.reduce((best, candidate) => (candidate.length < best.length ? candidate : best));
  let best: string | null = null;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(wanted.length - candidate.length) >= least) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    // With as many edits as letters, the names have nothing in common.
    if (distance >= least || distance >= Math.max(wanted.length, candidate.length)) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

/** The message for an unknown name: what is unknown, what may have been meant, and which names exist. */
export function unknownNameMessage(kind: string, word: string, candidates: readonly string[]): string {
  const guess = nearestName(word, candidates);
  const listed = candidates.slice(0, maxListed).join(', ');
  const more = candidates.length > maxListed ? ` and ${candidates.length - maxListed} more` : '';
  const hint = guess === null ? '' : `; did you mean \`${guess}\`?`;
  return `unknown ${kind} \`${clipName(word)}\`${hint} (available: ${candidates.length === 0 ? 'none' : listed + more})`;
}

/** Shortens a name for a message. */
export function clipName(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(substituted, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, beforeLast[j - 2]! + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
