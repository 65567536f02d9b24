/** What a manifest says. Names are as they stand in it: whoever shows them cleans them. */
export interface Manifest {
  name: string;
  about: string;
  /** Names of what it needs to run, and of what only its development needs. */
  runtime: string[];
  development: string[];
  entries: { path: string; why: string }[];
  testCommand: string;
}

/** Null where the text cannot be understood. What is missing is empty. */
export type ManifestParser = (text: string) => Partial<Manifest> | null;
