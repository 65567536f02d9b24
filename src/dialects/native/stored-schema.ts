// Schemas of tools whose JSON Schema is stored. Every run offers these tools, and few runs call them.
import { z } from 'zod';
import type { JsonObject } from '../../contract/json.ts';

/** A schema that is made when it first checks something. `stored`: its JSON Schema, as `z.toJSONSchema` would return it. */
export function createStoredSchema<T>(stored: JsonObject, make: () => z.ZodType<T>): z.ZodType<T> {
  const schema = z.custom<T>();
  let made: z.ZodType<T> | null = null;
  schema._zod.run = (payload, context) => {
    made ??= make();
    return made._zod.run(payload, context);
  };
  schema._zod.toJSONSchema = () => structuredClone(stored);
  return schema;
}
