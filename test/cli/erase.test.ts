// What `rm` does with the answer of whoever sits at the terminal.
import { expect, it } from 'vitest';
import { call, rootId, run } from './support.ts';

const api = {
  weigh: async () => ({ rootIds: [rootId], facts: 3, bytes: 1500 }),
  erase: async () => [{ rootId, result: 'erased' as const, facts: 3, bytes: 1500 }],
};

it.each([
  ['y', 0, `erased ${rootId}: 3 facts, 1.5 kB\n`],
  ['YES', 0, `erased ${rootId}: 3 facts, 1.5 kB\n`],
  ['', 1, ''],
  ['no', 1, ''],
])('to the answer %j', async (answer, code, stdout) => {
  let question = '';
  const ask = async (text: string) => {
    question = text;
    return answer;
  };
  const result = await run(['rm', 'last'], { api, io: { ask } });
  expect(question).toContain(`1 tree (3 facts, 1.5 kB): ${rootId}`);
  expect([result.code, result.stdout]).toEqual([code, stdout]);
  expect(call(result.io, 'erase') === undefined).toBe(code === 1);
});
