/** The text inside one tag, as pieces that are joined once: reading and extending one string in turn would copy it each time. */
export class MarkdownFrame {
  readonly tag: string;
  #pieces: string[] = [];
  /** Line breaks to write before the next text. */
  gap = 0;
  /** Whether it began with a blank, which belongs before the Markdown of the tag. */
  spaceBefore = false;
  address: string | null = null;

  constructor(tag: string) {
    this.tag = tag;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Whether a blank at this point would be redundant. */
  get isAtStart(): boolean {
    return this.gap > 0 || (this.#pieces.at(-1) ?? ' ').endsWith(' ');
  }

  /** Returns how many characters were added. */
  add(text: string): number {
    const piece = '\n'.repeat(this.gap) + text;
    this.gap = 0;
    if (piece !== '') this.#pieces.push(piece);
    return piece.length;
  }

  /** The next text begins so many lines further down, unless the frame is empty. */
  breakLines(lines: number): void {
    for (let last = this.#pieces.pop(); last !== undefined; last = this.#pieces.pop()) {
      const trimmed = last.trimEnd();
      if (trimmed === '') continue;
      this.#pieces.push(trimmed);
      this.gap = Math.max(this.gap, lines);
      return;
    }
  }

  text(): string {
    return this.#pieces.join('');
  }
}
