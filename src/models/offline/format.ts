// Text of files and names on its way into a report: made plain, short and harmless. Plus numbers and rankings for people.
import { cleanText } from '../../text/cut.ts';

/** One line of visible characters, at most `max` of them. */
export function toPlainLine(text: string, max: number): string {
  // Bounded first: a line of a file may be megabytes long.
  const bounded = text.slice(0, max * 4 + 1000).toWellFormed();
  const flat = cleanText(bounded.replace(/\s+/gu, ' ')).trim();
  if (flat.length <= max) return flat;
  const kept = flat.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '');
  return `${kept.trimEnd()}…`;
}

/** A Markdown code span: nothing inside it is markup. */
export function toCode(text: string, max = 200): string {
  const inner = toPlainLine(text, max).replaceAll('`', "'");
  return inner === '' ? '` `' : `\`${inner}\``;
}

/** Running text without markup: no tags, links or images, and nothing that begins a heading, a list or a table. */
export function toProse(text: string, max: number): string {
  const bare = toPlainLine(text, max * 4)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^<>]*>/g, '')
    .replace(/[<>`*[\]|\\]/g, '')
    .replace(/^[\s#>+=~-]+/, '');
  return toPlainLine(bare, max);
}

/** Sorts by code units: the same order on every machine. */
export function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How often each name occurs, the most frequent first; equal counts by name. Null is not counted. */
export function rankNames(names: (string | null)[]): { name: string; files: number }[] {
  const groups = Map.groupBy(names, (name) => name);
  const ranking = Array.from(groups, ([name, all]) => (name === null ? [] : [{ name, files: all.length }])).flat();
  return ranking.sort((a, b) => b.files - a.files || compareNames(a.name, b.name));
}

export function formatNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function formatNamedCount(value: number, one: string): string {
  return `${formatNumber(value)} ${value === 1 ? one : `${one}s`}`;
}

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** The first `max` texts, and how many more there are. */
export function joinTexts(texts: string[], max: number): string {
  const rest = texts.length - max;
  return rest > 0 ? `${texts.slice(0, max).join(', ')} and ${formatNumber(rest)} more` : texts.join(', ');
}
