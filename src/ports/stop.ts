// How runs and calls are stopped. The `AbortSignal`s of a run and its model calls cost a tenth of its processor time, and most work ends without being
// stopped. So the kernel uses `Stop`, and makes an `AbortSignal` only for code that needs one.
//
// 1. The first reason wins, and each listener is called once, in the order in which they were added.
// 2. Work that ends removes its listeners: a stop may live much longer.

/** Work that can be stopped checks it and listens to it. */
export type StopSignal = AbortSignal | Stop;

export type StopListener = (() => void) | { handleEvent(): void };

export class Stop {
  #isStopped = false;
  #reason: unknown;
  #listeners: StopListener[] | null = null;
  #controller: AbortController | null = null;

  get aborted(): boolean {
    return this.#isStopped;
  }

  get reason(): unknown {
    return this.#reason;
  }

  abort(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners ?? [];
    this.#listeners = null;
    for (const listener of listeners) callListener(listener);
  }

  /** Never called for a stop that has happened before, as with an `AbortSignal`. */
  addEventListener(_: 'abort', listener: StopListener, _options?: { once: true }): void {
    if (this.#isStopped) return;
    if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  removeEventListener(_: 'abort', listener: StopListener): void {
    const index = this.#listeners?.lastIndexOf(listener) ?? -1;
    if (index !== -1) this.#listeners?.splice(index, 1);
  }

  /** How many listeners were not removed, to find those that were forgotten. */
  get listenerCount(): number {
    return this.#listeners?.length ?? 0;
  }

  toAbortSignal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#isStopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}

/** Stops with another signal, until it is released. */
export class LinkedStop extends Stop {
  readonly #parent: StopSignal;

  constructor(parent: StopSignal) {
    super();
    this.#parent = parent;
    if (parent.aborted) this.handleEvent();
    else parent.addEventListener('abort', this, { once: true });
  }

  handleEvent(): void {
    this.abort(this.#parent.reason);
  }

  /** The work is over. May be called again. */
  release(): void {
    this.#parent.removeEventListener('abort', this);
  }
}

function callListener(listener: StopListener): void {
  if (typeof listener === 'function') listener();
  else listener.handleEvent();
}

export function toAbortSignal(signal: StopSignal): AbortSignal {
  return signal instanceof Stop ? signal.toAbortSignal() : signal;
}
