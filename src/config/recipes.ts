// Recipes of Dex: Markdown files in the recipe folders of the user and of the workspace. Front matter is the definition, the text below it the
// instructions.
import { join } from 'node:path';
import { createProblem, parseFrontMatter } from '../agents/front-matter.ts';
import { RetinueError } from '../contract/error.ts';
import { Recipe } from '../dialects/dex/recipe.ts';
import { nearestName } from '../text/suggest.ts';
import { type FoundFile, readFolders } from './agent-files.ts';
import { type Env, userConfigFolder } from './user-folders.ts';

/** The workspace's recipes replace yours of the same name. Throws `invalid_config` with file and line. */
export function loadRecipes(workspace: string, env: Env): Recipe[] {
  const found = [
    readFolders([join(userConfigFolder(env), 'recipes')], null),
    readFolders([join(workspace, '.retinue', 'recipes')], workspace),
  ];
  const problems = found.flatMap(({ refused }) => refused.flatMap((file) => file.problems));
  if (problems.length > 0) throw new RetinueError('invalid_config', problems.join('\n'));
  return [...new Map(found.flatMap(({ files }) => files.map(parseRecipe)).map((recipe) => [recipe.name, recipe])).values()];
}

function parseRecipe({ path, text }: FoundFile): Recipe {
  const head = parseFrontMatter(path, text);
  if (head === null) throw createProblem(path, 1, 'a recipe begins with front matter: a line of three dashes, `name: …`, and three dashes');
  const keys = Object.fromEntries(head.entries.map(({ key, value }) => [key, value]));
  const parsed = Recipe.safeParse({ ...keys, instructions: head.body });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const isUnknown = issue?.code === 'unrecognized_keys' && issue.path.length === 0;
  const key = isUnknown ? String(issue.keys[0]) : String(issue?.path[0] ?? '');
  const line = head.entries.find((entry) => entry.key === key)?.line ?? 1;
  const guess = isUnknown ? nearestName(key, Object.keys(Recipe.shape)) : null;
  const message = isUnknown ? `unknown key${guess === null ? '' : `; did you mean \`${guess}\`?`}` : issue?.message;
  throw createProblem(path, line, `\`${issue?.path.join('.') || key}\`: ${message}`);
}
