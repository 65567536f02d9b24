/**
 * Keeps the first `most` of any number of things in bounded memory, whatever the order in which they come. What several threads
 * found in any order then reads the same each time.
 */
export class Smallest<T> {
  readonly #most: number;
  readonly #compare: (a: T, b: T) => number;
  #kept: T[] = [];
  #limit: T | undefined;
  count = 0;

  constructor(most: number, compare: (a: T, b: T) => number) {
    this.#most = most;
    this.#compare = compare;
  }

  add(thing: T): void {
    this.count++;
    if (this.#limit !== undefined && this.#compare(thing, this.#limit) >= 0) return;
    this.#kept.push(thing);
    if (this.#kept.length >= this.#most * 4) this.#trim();
  }

  /** In order. */
  take(): T[] {
    this.#trim();
    return this.#kept;
  }

  #trim(): void {
    this.#kept.sort(this.#compare);
    if (this.#kept.length <= this.#most) return;
    this.#kept.length = this.#most;
    this.#limit = this.#kept.at(-1);
  }
}
