// Records what a page of the dashboard must never do: ask another server for something, run code that it was given, or report an error.
import type { BrowserContext } from 'playwright-core';

export interface PageWatch {
  /** One line each, in order. */
  problems: string[];
}

/** `allowed`: console messages that the test causes on purpose, such as a lost connection. */
export async function watchPages(context: BrowserContext, origin: string, allowed: readonly RegExp[] = []): Promise<PageWatch> {
  const problems: string[] = [];
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:' && url.protocol !== 'blob:') problems.push(`request to ${request.url()}`);
  });
  context.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !allowed.some((pattern) => pattern.test(text))) problems.push(`console: ${text}`);
  });
  context.on('weberror', (error) => problems.push(`page error: ${error.error().stack ?? error.error().message}`));
  context.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss().catch(() => {});
  });
  context.on('page', (page) => {
    page.on('websocket', (socket) => problems.push(`web socket to ${socket.url()}`));
    page.on('popup', (popup) => problems.push(`new window: ${popup.url()}`));
  });
  await context.exposeBinding('reportProblem', (_, text: string) => problems.push(text));
  await context.addInitScript({ content: reportViolations });
  return { problems };
}

/** Runs in the page, before its own code. As text, because the tests are checked without the types of browsers. */
const reportViolations = `addEventListener('securitypolicyviolation', (event) => {
  reportProblem('content security policy: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample);
});`;
