// The types of `all`: each outcome has the type of its own brief's schema.
import { expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { type BriefFor, createRetinue, type OutcomeOf } from '../../src/main/index.ts';
import { scriptedModel } from '../../src/main/testing.ts';

const A = z.object({ a: z.string() });
const B = z.object({ b: z.number() });
type Settled<T> = PromiseSettledResult<OutcomeOf<T>>;

const model = scriptedModel({
  runs: [
    { when: { task: 'letter' }, times: 'any', steps: [{ calls: [{ tool: 'submit_result', args: { a: 'x' } }] }] },
    { when: { task: 'number' }, times: 'any', steps: [{ calls: [{ tool: 'submit_result', args: { b: 1 } }] }] },
    { times: 'any', steps: [{ text: 'done' }] },
  ],
});

it('types each outcome by its own brief', async () => {
  await using retinue = createRetinue({ model });
  const mixed = await retinue.all([{ task: 'letter', result: A }, { task: 'number', result: B }, { task: 'neither' }]);
  expectTypeOf(mixed).toEqualTypeOf<[Settled<{ a: string }>, Settled<{ b: number }>, Settled<unknown>]>();
  const constant = [
    { task: 'letter', result: A, tools: { allow: ['list'] } },
    { task: 'number', result: B, files: [] },
  ] as const;
  expectTypeOf(await retinue.all(constant)).toEqualTypeOf<[Settled<{ a: string }>, Settled<{ b: number }>]>();
  const list: BriefFor<{ a: string }>[] = ['one', 'two'].map((part) => ({ task: `letter ${part}`, result: A }));
  expectTypeOf(await retinue.all(list)).toEqualTypeOf<Settled<{ a: string }>[]>();
  expectTypeOf(await retinue.all(['a', 'b'].map((task) => ({ task })))).toEqualTypeOf<Settled<unknown>[]>();
  // @ts-expect-error: a misspelt field
  const [misspelt] = await retinue.all([{ task: 'x', limts: {} }]);
  expect(misspelt?.status).toBe('rejected');
  expect(mixed.map((each) => each.status === 'fulfilled' && each.value.data)).toEqual([{ a: 'x' }, { b: 1 }, undefined]);
});
