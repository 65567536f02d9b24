/** What a pure function makes of recent texts. Keeps a few dozen; a text that comes again is not computed again. */
export class TextMemo<T> {
  readonly #compute: (text: string) => T;
  readonly #known = new Map<string, T>();

  constructor(compute: (text: string) => T) {
    this.#compute = compute;
  }

  get(text: string): T {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const made = this.#compute(text);
    if (this.#known.size >= maxTexts) this.#known.clear();
    this.#known.set(text, made);
    return made;
  }
}

const maxTexts = 32;
