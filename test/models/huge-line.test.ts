// A provider that never ends a line: typed failure, bounded memory, closed connection.
import { expect, test } from 'vitest';
import { all, ask, ground } from './providers-support.ts';

test.each(all)('$provider: a line of 100 MB', async ({ model }) => {
  const { handle, server } = await ground([{ fault: { kind: 'huge-line' } }]);
  const resolved = await handle(model);
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  const { result } = await ask(resolved);
  clearInterval(watch);
  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'provider', retryable: false, message: 'a line of the answer is larger than 16777216 bytes' } },
  });
  expect(most - before).toBeLessThan(150e6);
  await expect.poll(() => server.requests[0]?.aborted).toBe(true);
});
