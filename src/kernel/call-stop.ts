// Stops one tool call: with its run, or alone. The abort signal for the tool is made when the tool asks for it, because most calls end without.

/** The first cause wins. */
export class CallStop {
  readonly #parent: AbortSignal;
  readonly #stopWithParent = () => this.stop(this.#parent.reason);
  #controller: AbortController | null = null;
  #listener: (() => void) | null = null;
  #reason: unknown = null;
  #isStopped = false;

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#stopWithParent();
    else parent.addEventListener('abort', this.#stopWithParent, { once: true });
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#isStopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  stop(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#listener?.();
  }

  /** Calls the listener when the call is stopped, at once if it was. There is one listener. */
  listen(listener: () => void): void {
    this.#listener = listener;
    if (this.#isStopped) listener();
  }

  /** The call is over: the listener is not called any more, and nothing of the call remains. May be called again. */
  end(): void {
    this.#listener = null;
    this.#parent.removeEventListener('abort', this.#stopWithParent);
  }
}
