// Makes imports of Node's own modules look up only what is used. Node itself reads everything that a module exports when one name is imported, and some
// exports load more modules when they are read: `node:fs` all of its streams, `node:http` also `fetch` and `WebSocket`. Together this is a
// fifth of the start of a command. An old Node does not have all modules; the library must load there to say which version it needs.

const prefix = '\0look-up:';
const deferredPrefix = '\0look-up-later:';

/** The module whose exports are functions that look up what is exported under their name; see defer-constants.mjs. */
export const deferredBuiltin = (name) => deferredPrefix + name;

/** For rolldown. `require` in bundled packages is left alone, and so is what the bundler's own helpers import: they come before everything else. */
export const lookUpBuiltins = {
  name: 'look-up-builtins',
  resolveId(id, importer, { kind }) {
    if (id.startsWith(deferredPrefix)) return id;
    const isOurs = id.startsWith('node:') && kind === 'import-statement' && !importer?.startsWith('\0rolldown');
    return isOurs ? `${prefix}${id}` : null;
  },
  async load(id) {
    const isDeferred = id.startsWith(deferredPrefix);
    if (!isDeferred && !id.startsWith(prefix)) return null;
    const name = id.slice(isDeferred ? deferredPrefix.length : prefix.length);
    // The bundler leaves out those that nothing uses.
    const names = Object.keys(await import(name)).filter((each) => each !== 'default');
    const module = `process.getBuiltinModule?.('${name}') ?? {}`;
    if (isDeferred)
      return [
        'var found;',
        `export default function find() { return found ??= ${module}; }`,
        ...names.map((each) => `export function ${each}() { return find().${each}; }`),
      ].join('\n');
    return [
      `const found = ${module};`,
      ...names.map((each) => `export const ${each} = /* @__PURE__ */ (() => found.${each})();`),
      'export default found;',
    ].join('\n');
  },
};
