import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeArgumentProblems } from '../../src/conversation/argument-problems.ts';

const Schema = z.strictObject({
  tasks: z.array(z.strictObject({ task: z.string(), agent: z.string().optional() })).min(1),
  mode: z.enum(['all', 'any']).optional(),
  target: z.union([z.strictObject({ path: z.string() }), z.null()]).optional(),
  count: z.int().min(1).optional(),
});

const cases: [what: string, args: unknown, problem: string | RegExp][] = [
  ['a missing parameter', {}, 'tasks: is missing; it has to be an array'],
  ['one inside a list', { tasks: [{}] }, 'tasks[0].task: is missing; it has to be a string'],
  ['a misspelt one', { tasks: [{ task: 'x' }], moed: 'all' }, 'moed: there is no such parameter; did you mean `mode`?'],
  [
    'a misspelt one inside a list',
    { tasks: [{ task: 'x' }, { task: 'y', agnt: 'z' }] },
    'tasks[1].agnt: there is no such parameter; did you mean `agent`?',
  ],
  ['one like no other', { tasks: [{ task: 'x' }], zzzzzz: 1 }, 'zzzzzz: there is no such parameter; available: tasks, mode, target, count'],
  ['a wrong type', { tasks: 'x' }, /^tasks: .*expected array, received string$/],
  ['null', { tasks: null }, /^tasks: .*expected array, received null$/],
  ['a wrong value', { tasks: [{ task: 'x' }], mode: 'some' }, /^mode: .*"all"\|"any"/],
  ['a number out of range', { tasks: [{ task: 'x' }], count: 0 }, /^count: .*>=1/],
  ['no object', [], /^\(arguments\): .*expected object, received array$/],
];

describe('descriptions of invalid arguments', () => {
  it.each(cases)('name %s', (_, args, problem) => {
    const { error } = Schema.safeParse(args);
    expect(describeArgumentProblems(error as z.ZodError, Schema, args)).toEqual(
      typeof problem === 'string' ? problem : expect.stringMatching(problem),
    );
  });

  it('name five problems and the number of others', () => {
    const args = { tasks: Array.from({ length: 8 }, () => ({})) };
    const said = describeArgumentProblems(Schema.safeParse(args).error as z.ZodError, Schema, args);
    expect(said.split('; ').filter((part) => part.startsWith('tasks['))).toHaveLength(5);
    expect(said).toMatch(/and 3 more$/);
  });
});
