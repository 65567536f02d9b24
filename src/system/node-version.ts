/** The first Node of version 24 whose SQLite is new enough. `engines` in package.json says the same. */
export const oldestNode = '24.15.0';

/** Null if this version of Node is new enough; otherwise a sentence that says what is needed. */
export function describeOldNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null;
  return `Retinue needs Node ${oldestMajor}.${oldestMinor} or later; this is Node ${version}.`;
}
