// One request and its response, as the handler that undici calls.
//
// X1. Before its head has arrived, a failed exchange rejects the post; after that, it rejects `read`, now or when it is called.
// X2. When the signal fires, the exchange fails with the signal's reason, at any time.
// X3. Nothing reaches the reader after a failure.
import type { Dispatcher } from 'undici';
import type { StopSignal } from '../../ports/stop.ts';
import { findRefusal } from './bounds.ts';
import type { HttpConnection } from './connection.ts';
import { createDecompressor, type Decompressor } from './decompressor.ts';

export interface PostResponse {
  status: number;
  statusText: string;
  headers: Record<string, string>;
  /** Passes on every chunk of the body. Rejects if the body breaks off or `take` throws, and with the signal's reason when that fires. */
  read(take: (chunk: Buffer) => void): Promise<void>;
}

type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];
type Take = (chunk: Buffer) => void;

export interface ExchangeOptions {
  url: string;
  signal: StopSignal | undefined;
  resolve(response: PostResponse): void;
  reject(error: unknown): void;
}

/** Bytes that are kept until `read` is called. Beyond that, the connection is not read. */
const maxUnreadBytes = 64 * 1024;

/** A class, because its methods are then not made anew for each request. */
export class Exchange implements PostResponse, Dispatcher.DispatchHandler {
  status = 0;
  statusText = '';
  headers: Record<string, string> = {};
  readonly #options: ExchangeOptions;
  readonly #connection: HttpConnection;
  #controller: Controller | null = null;
  #decompressor: Decompressor | null = null;
  #hasHead = false;
  #isOver = false;
  #failure: { error: unknown } | null = null;
  /** What has arrived before `read`. */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #reader: { take: Take; resolve(): void; reject(error: unknown): void } | null = null;

  constructor(connection: HttpConnection, options: ExchangeOptions) {
    this.#connection = connection;
    this.#options = options;
    options.signal?.addEventListener('abort', this);
  }

  /** The signal fires. */
  handleEvent(): void {
    this.#fail(this.#options.signal?.reason);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(abortError);
  }

  onResponseStart(_controller: Controller, status: number, headers: Headers, statusText = ''): void {
    if (this.#isOver || status < 200) return;
    this.status = status;
    this.statusText = statusText;
    this.headers = keepFirstValues(headers);
    const { 'content-type': contentType = '', location = '', 'content-encoding': encoding } = this.headers;
    const refusal = findRefusal({ status, contentType, location, url: this.#options.url });
    if (refusal) {
      this.#fail(refusal);
      return;
    }
    this.#hasHead = true;
    if (encoding !== undefined) this.#decompressor = this.#createDecompressor(encoding);
    this.#options.resolve(this);
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    if (this.#isOver) return;
    if (!this.#decompressor) this.#take(chunk);
    else if (!this.#decompressor.write(chunk)) this.#controller?.pause();
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#connection.release();
    if (this.#decompressor) this.#decompressor.end();
    else this.#finish();
  }

  onResponseError(_controller: Controller | null, error: Error & { code?: unknown }): void {
    // Headers that cannot be sent, or a proxy that refuses: a retry does not help.
    if (error.code === 'UND_ERR_INVALID_ARG') this.#fail(error);
    else this.#fail(this.#hasHead ? createBreakError(error) : createConnectError(error));
  }

  read(take: Take): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure.error);
      this.#reader = { take, resolve, reject };
      const unread = this.#unread;
      this.#unread = [];
      for (const chunk of unread) this.#take(chunk);
      if (this.#isOver) resolve();
      else if (this.#unreadBytes > maxUnreadBytes) this.#controller?.resume();
    });
  }

  #take(chunk: Buffer): void {
    if (this.#failure) return;
    if (!this.#reader) {
      this.#unread.push(chunk);
      this.#unreadBytes += chunk.length;
      if (this.#unreadBytes > maxUnreadBytes) this.#controller?.pause();
      return;
    }
    try {
      this.#reader.take(chunk);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #createDecompressor(encoding: string): Decompressor | null {
    return createDecompressor(encoding, {
      take: (chunk) => this.#take(chunk),
      drained: () => this.#controller?.resume(),
      finish: () => this.#finish(),
      fail: (error) => this.#fail(createBreakError(error)),
    });
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#leave();
    this.#reader?.resolve();
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    const wasOver = this.#isOver;
    this.#leave();
    this.#decompressor?.destroy();
    if (!wasOver) {
      if (this.#controller) this.#controller.abort(abortError);
      else this.#connection.cancel();
    }
    if (this.#reader) this.#reader.reject(error);
    else if (!this.#hasHead) this.#options.reject(error);
  }

  #leave(): void {
    this.#isOver = true;
    this.#options.signal?.removeEventListener('abort', this);
  }
}

/** The reader gets the error of the exchange instead. One object, because a stack trace for each abort would be expensive. */
const abortError = new Error('aborted');

/** A header that occurs more than once is a list in undici. */
function keepFirstValues(headers: Headers): Record<string, string> {
  for (const name in headers) if (Array.isArray(headers[name])) headers[name] = headers[name][0];
  return headers as Record<string, string>;
}

function createConnectError(error: Error & { code?: unknown }): Error {
  const reason = error.message || String(error.code ?? 'no connection');
  return Object.assign(new Error(`Cannot connect to API: ${reason}`), { name: 'ProviderError', isRetryable: true });
}

function createBreakError(error: Error): Error {
  const message = `the connection broke in the middle of the answer${error.message ? `: ${error.message}` : ''}`;
  return Object.assign(new Error(message), { name: 'ProviderError', isRetryable: true });
}
