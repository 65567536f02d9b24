import type { Json, JsonObject } from '../contract/json.ts';

/** Gives what is wrong with a value, in a sentence for the model; null when it holds. */
export type ResultCheck = (value: Json) => string | null;

/** Makes a check of a JSON Schema. Rejects with RetinueError `invalid_brief` where the schema itself is none. */
export type SchemaCompiler = (schema: JsonObject) => Promise<ResultCheck>;
