import { z } from 'zod';

/**
 * What a survey found in one folder, as a run hands it to its parent. The parent does not trust it: what is malformed or missing
 * becomes empty, so that a message that was cut still tells what it can. Keys come in the order of their worth.
 */

const count = z.int().min(0).catch(0);
const name = z.string().max(4096);

/** One wrong item takes only itself away. */
function listOf<T extends z.ZodType>(item: T) {
  return z
    .array(z.unknown())
    .catch([])
    .transform((items) => items.map((each) => item.safeParse(each)).flatMap((each) => (each.success ? [each.data] : [])));
}

const ranking = listOf(z.tuple([name, z.int().min(0)]));

export const FolderData = z.object({
  /** Null: the files at the top of the workspace. */
  folder: name.nullable(),
  files: count,
  bytes: count,
  /** How many of the files have a known size. */
  sized: count,
  /** Language, files, bytes. */
  languages: listOf(z.tuple([name, z.int().min(0), z.int().min(0)])),
  /** What is not complete, because an output was cut: `files`, `imports`, `marks`, `tests`, `sizes`. */
  cut: listOf(name),
  about: z.string().max(1000).catch(''),
  tests: z.object({ files: count, cases: count, imports: listOf(name) }).catch({ files: 0, cases: 0, imports: [] }),
  todos: z
    .object({ count, kinds: ranking, first: listOf(z.object({ path: name, line: count, text: z.string() })) })
    .catch({ count: 0, kinds: [], first: [] }),
  entries: listOf(z.object({ path: name, why: z.string().max(200) })),
  largest: listOf(z.object({ path: name, bytes: count, lines: count.nullable() })),
  importedFiles: ranking,
  importedPackages: ranking,
  parts: ranking,
  manifests: listOf(name),
});
export type FolderData = z.infer<typeof FolderData>;

export const SurveyData = z.object({
  survey: z.literal(1),
  folders: listOf(FolderData),
  /** What could not be looked at, and why. */
  problems: listOf(z.string().max(1000)),
});
export type SurveyData = z.infer<typeof SurveyData>;
