/**
 * Keeps the first `max` of any number of items in sort order, in bounded memory. Results that several threads find in random order are then the same
 * each time.
 */
export class FirstSorted<T> {
  readonly #max: number;
  readonly #compare: (a: T, b: T) => number;
  #kept: T[] = [];
  #limit: T | undefined;
  count = 0;

  constructor(max: number, compare: (a: T, b: T) => number) {
    this.#max = max;
    this.#compare = compare;
  }

  add(item: T): void {
    this.count++;
    if (this.#limit !== undefined && this.#compare(item, this.#limit) >= 0) return;
    this.#kept.push(item);
    if (this.#kept.length >= this.#max * 4) this.#trim();
  }

  toArray(): T[] {
    this.#trim();
    return this.#kept;
  }

  #trim(): void {
    this.#kept.sort(this.#compare);
    if (this.#kept.length <= this.#max) return;
    this.#kept.length = this.#max;
    this.#limit = this.#kept.at(-1);
  }
}
