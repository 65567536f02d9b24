/**
 * For the schemas of files that a process reads once or twice. Without it zod compiles a function for every object of a schema, which pays only if the
 * schema is used often.
 */
export const readOnce = { jitless: true } as const;
