import { expect, test } from 'vitest';
import { z } from 'zod';
import { Input } from '../../src/dialects/native/delegate.ts';
import { Apply, Cancel, Message, Read, Wait } from '../../src/dialects/native/follow-up.ts';
import { native } from '../../src/dialects/native.ts';

const inputs: Record<string, z.ZodType> = {
  delegate: Input,
  delegate_wait: Wait,
  delegate_message: Message,
  delegate_read: Read,
  delegate_cancel: Cancel,
  delegate_apply: Apply,
};
const toJson = (schema: z.ZodType) => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
};

// `npx vitest run test/dialects/native-schemas.test.ts -u` writes the file again. What models see is recorded and hashed, so order counts.
test('the stored JSON Schemas are those of the parameters', async () => {
  const schemas = Object.fromEntries(Object.entries(inputs).map(([name, schema]) => [name, toJson(schema)]));
  await expect(`${JSON.stringify(schemas, null, 2)}\n`).toMatchFileSnapshot('../../src/dialects/native/input-schemas.json');
});

test.each(native.tools.filter(({ name }) => name in inputs))(
  '$name: models see the stored schema, and calls are checked as by its parameters',
  ({ name, input }) => {
    const schema = inputs[name] as z.ZodType;
    expect(JSON.stringify(toJson(input))).toBe(JSON.stringify(toJson(schema)));
    expect(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })).toEqual(
      z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
    );
    for (const given of [{}, { id: 'a', text: 'b' }, { ids: ['a'] }, { tasks: [{ task: 't' }] }, { unknown: 1 }, 'text'])
      expect(input.safeParse(given)).toEqual(schema.safeParse(given));
  },
);
