// Resolves imports of packages exactly as Node does, without executing anything: `exports`, `imports`, self-references and linked workspaces.
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const scheme = 'retinue-resolve:';
const resolverFile = '/@retinue-resolve/resolver.mjs';
// Node resolves for the module that asks. `import.meta.resolve` takes no other parent, so a hook replaces the parent.
const resolverSource = 'export const resolve = (specifier) => import.meta.resolve(specifier);';

let resolver: ((specifier: string) => string) | null = null;

/** The path of the file that `specifier` leads to when `parent` imports it; null for built-in modules and for what Node does not find. */
export function resolveAsNode(specifier: string, parent: string): string | null {
  resolver ??= createResolver();
  try {
    const url = resolver(scheme + encodeURIComponent(JSON.stringify([specifier, parent])));
    return url.startsWith('file:') ? fileURLToPath(url) : null;
  } catch {
    return null;
  }
}

function createResolver(): (specifier: string) => string {
  const url = pathToFileURL(resolverFile).href;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === resolverFile) return { url, format: 'module', shortCircuit: true };
      if (context.parentURL !== url || !specifier.startsWith(scheme)) return next(specifier, context);
      const [wanted, parent] = JSON.parse(decodeURIComponent(specifier.slice(scheme.length))) as [string, string];
      return next(wanted, { ...context, parentURL: pathToFileURL(parent).href });
    },
    load: (loaded, context, next) =>
      loaded === url ? { format: 'module', source: resolverSource, shortCircuit: true } : next(loaded, context),
  });
  return (createRequire(import.meta.url)(resolverFile) as { resolve(specifier: string): string }).resolve;
}
