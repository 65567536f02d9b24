/**
 * The text inside one tag, as pieces: joined once, because a string that is added to and looked at in turn would be copied each time.
 */
export class Frame {
  readonly tag: string;
  #pieces: string[] = [];
  /** Line breaks that come before the next text. */
  gap = 0;
  /** Whether it began with space, which belongs before what the tag becomes. */
  spaceBefore = false;
  address: string | null = null;

  constructor(tag: string) {
    this.tag = tag;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Whether a space that comes now would say nothing. */
  get isAtStart(): boolean {
    return this.gap > 0 || (this.#pieces.at(-1) ?? ' ').endsWith(' ');
  }

  /** Gives how much longer it is. */
  add(text: string): number {
    const piece = '\n'.repeat(this.gap) + text;
    this.gap = 0;
    if (piece !== '') this.#pieces.push(piece);
    return piece.length;
  }

  /** What comes next begins so many lines further down, unless nothing is there yet. */
  space(lines: number): void {
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
