// A client that lives long: what it keeps of ended children is bounded, and older results stay readable.
import { describe, expect, it } from 'vitest';
import { anyAgent } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const children = 600;

describe('a client with many ended children', () => {
  it('keeps a bounded number of them in memory and reads the others from the store', async () => {
    await using world = await createWorld({
      agents: [anyAgent],
      script: { runs: [{ times: 'any', steps: [{ text: 'x'.repeat(4000) }] }] },
    });
    const client = await world.runtime.openClient();
    const ids: string[] = [];
    for (let n = 0; n < children; n++) {
      const run = await client.delegate({ task: `work ${n}`, agent: 'any' });
      await run.outcome;
      ids.push(run.id);
    }
    expect(client.delegation.children().length).toBeLessThanOrEqual(256);
    const [first] = ids as [string];
    expect(client.delegation.view(first)).toBeNull();
    expect((await client.delegation.viewEarlier(first))?.outcome?.summary).toBe('x'.repeat(4000));
    expect((await client.delegation.read(first, 'summary', { offset: 0, limit: 10 }))?.text).toBe('xxxxxxxxxx');
    await client.close();
  });
});
