// Makes imports of Node's own modules look up only what is used. Node itself reads everything that a module exports when one name is imported, and some
// exports load more modules when they are read: `node:fs` all of its streams, `node:http` also `fetch` and `WebSocket`. Together this is a
// fifth of the start of a command. An old Node does not have all modules; the library must load there to say which version it needs.

const prefix = '\0look-up:';

/** For rolldown. `require` in bundled packages is left alone, and so is what the bundler's own helpers import: they come before everything else. */
export const lookUpBuiltins = {
  name: 'look-up-builtins',
  resolveId(id, importer, { kind }) {
    const isOurs = id.startsWith('node:') && kind === 'import-statement' && !importer?.startsWith('\0rolldown');
    return isOurs ? `${prefix}${id}` : null;
  },
  async load(id) {
    if (!id.startsWith(prefix)) return null;
    const name = id.slice(prefix.length);
    const names = Object.keys(await import(name)).filter((each) => each !== 'default');
    return [
      `const found = process.getBuiltinModule?.('${name}') ?? {};`,
      // The bundler leaves out those that nothing uses.
      ...names.map((each) => `export const ${each} = /* @__PURE__ */ (() => found.${each})();`),
      'export default found;',
    ].join('\n');
  },
};
