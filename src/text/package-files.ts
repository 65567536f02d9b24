/** Where package managers put hard links to files in their own store. */
const packageFolders = /(?:^|\/)(?:node_modules|site-packages)\//;

/** Whether a file at `path` that has several hard links may be read or copied. Elsewhere its other name may be outside the workspace. */
export function mayHaveHardLinks(path: string): boolean {
  return packageFolders.test(path);
}
