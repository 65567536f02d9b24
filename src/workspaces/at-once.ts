/** Calls `work` for all items, a few at a time. Rejects with the first error after the calls under way have ended. */
export async function forEachAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>, width = 16): Promise<void> {
  let next = 0;
  const results = await Promise.allSettled(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      while (next < items.length) await work(items[next++] as T);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
