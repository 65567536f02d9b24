// A flow has no path that it could find other files by: what it reads at run time would be neither hashed nor trusted.
import { RetinueError } from '../contract/error.ts';

const key = Symbol.for('retinue.flow.import-meta');
const hidden = ['url', 'dirname', 'filename', 'resolve'];

/** On the first line, so that the lines of the source stay those of the file. */
const prefix = `globalThis[Symbol.for('${key.description}')](import.meta);`;
export const prefixLength = prefix.length;

/** The source with code in front that makes the paths of `import.meta` throw, if it uses them. */
export function guardImportMeta(source: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(source);
  if (!/\bimport\s*\.\s*meta\b/.test(text)) return source;
  Object.defineProperty(globalThis, key, { value: hidePaths, configurable: true });
  return Buffer.from(prefix + text.replace(/^#!.*/, ''));
}

function hidePaths(meta: object): void {
  for (const name of hidden)
    Object.defineProperty(meta, name, {
      get() {
        throw new RetinueError(
          'usage',
          `import.meta.${name} is not available in a flow, because files that it reads are not part of its version. Import the text from a .ts or .json file, pass it as input, or read it inside flow.step by a path below flow.workspace`,
        );
      },
    });
}
