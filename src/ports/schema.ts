import type { Json, JsonObject } from '../contract/json.ts';

/** Returns what is wrong with a value, as a sentence for the model; null if it is valid. */
export type ResultCheck = (value: Json) => string | null;

/** Like `ResultCheck`, for a check of the program, which may have to wait. */
export type ProgramCheck = (value: Json) => string | null | Promise<string | null>;

/** Compiles a JSON Schema. Rejects with RetinueError `invalid_brief` if the schema is invalid. */
export type SchemaCompiler = (schema: JsonObject) => Promise<ResultCheck>;
