/** Suggestions for names that were not found: what a person or a model most likely meant. */

const maxListed = 12;

/** The likeliest candidate: one that begins with the word, else one within max(2, a third of its length) slips of the pen. */
export function nearestName(word: string, candidates: readonly string[]): string | null {
  const wanted = word.toLowerCase();
  const beginning = candidates.filter((candidate) => wanted.length > 1 && candidate.toLowerCase().startsWith(wanted));
  if (beginning.length > 0) return beginning.reduce((best, candidate) => (candidate.length < best.length ? candidate : best));
  let best: string | null = null;
  let least = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const longer = Math.max(wanted.length, candidate.length);
    if (Math.abs(wanted.length - candidate.length) >= least) continue;
    const found = editDistance(wanted, candidate.toLowerCase());
    // As many slips as letters: nothing is alike.
    if (found >= least || found >= longer) continue;
    best = candidate;
    least = found;
  }
  return best;
}

/** The sentence for a name that is not there: what is unknown, what may be meant, what there is. */
export function unknownNameMessage(kind: string, word: string, candidates: readonly string[]): string {
  const guess = nearestName(word, candidates);
  const listed = candidates.slice(0, maxListed).join(', ');
  const more = candidates.length > maxListed ? ` and ${candidates.length - maxListed} more` : '';
  const hint = guess === null ? '' : `; did you mean \`${guess}\`?`;
  return `unknown ${kind} \`${clipName(word)}\`${hint} (there are: ${candidates.length === 0 ? 'none' : listed + more})`;
}

/** A name as it is repeated in a message. */
export function clipName(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Damerau-Levenshtein: letters put in, left out, changed, or two neighbours swapped. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(changed, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, beforeLast[j - 2]! + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
