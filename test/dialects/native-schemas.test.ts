import { expect, test } from 'vitest';
import { z } from 'zod';
import { native } from '../../src/dialects/native.ts';

const toJson = (schema: z.ZodType) => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
};

// `npx vitest run test/dialects/native-schemas.test.ts -u` writes the file again. What models see is recorded and hashed, so order counts.
test('the stored JSON Schemas are those of the parameters', async () => {
  const schemas = Object.fromEntries(native.tools.map(({ name, input }) => [name, toJson(input)]));
  await expect(`${JSON.stringify(schemas, null, 2)}\n`).toMatchFileSnapshot('../../src/dialects/native/input-schemas.json');
});

test.each(native.tools.map((tool) => [tool.name, tool] as const))('%s: models see the stored schema', (_, { input, inputSchema }) => {
  expect(JSON.stringify(inputSchema)).toBe(JSON.stringify(toJson(input)));
});
