/** The longest task of a brief, in bytes. Without schemas, because the start of a command reads it. */
export const maxTaskBytes = 65_536;
