import { z } from 'zod';

/** The name of an environment variable. The pattern rejects a pasted secret, and the message does not repeat it. */
export const variableName = (example: string) =>
  z.string().regex(/^[A-Z_][A-Z0-9_]{0,99}$/, `must be the name of a variable, such as ${example}; never its value`);
