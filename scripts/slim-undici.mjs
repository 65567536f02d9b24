// Leaves out of the bundle what undici's HTTP/1.1 client does not need here: HTTP/2, the bodies of `fetch`, an experimental parser and tables. Its parser in
// WebAssembly becomes a file. `node:http` and `node:assert` are not loaded for a constant and a function. All of it would cost 90 ms at every start; what is
// left costs 2 to 3 ms more than `node:http`, on two busy cores.
import { createRequire } from 'node:module';
import { minifySync } from 'rolldown/utils';

const undici = /\/node_modules\/undici\/lib\//;
const prefix = '\0undici:';
const require = createRequire(import.meta.url);

/** What is bundled instead of a module that undici requires. */
const replacements = [
  // Only for connections that negotiate HTTP/2, which ours do not offer.
  [/\/client-h2\.js$/, () => "module.exports = () => { throw new Error('HTTP/2 is not part of this bundle'); };"],
  // Only for bodies that are forms; ours are strings.
  [/\/web\//, () => 'module.exports = {};'],
  // Only if UNDICI_USE_MILO is set.
  [/\/parser-h1\.js$/, () => 'module.exports = { getMiloEnabled: () => false };'],
  // Finds the names of known headers; the others are decoded, which is as fast.
  [/^\.\/tree$/, () => 'module.exports = { tree: { lookup: () => null } };'],
  [/\/llhttp\/constants\.js$/, createConstants],
  [/\/llhttp\/\w+-wasm\.js$/, createWasmReader],
  [/^node:http$/, () => 'module.exports = { maxHeaderSize: 16384, IncomingMessage: class {} };'],
  [
    /^node:assert$/,
    () => "module.exports = (value, message) => { if (!value) throw new Error(message ?? 'undici is in an unexpected state'); };",
  ],
  // `require` would do more than look them up.
  [/^node:/, (id) => `module.exports = process.getBuiltinModule('${id}');`],
];

/** The two tables that the client uses, of many. */
function createConstants() {
  const { ERROR, TYPE } = require('undici/lib/llhttp/constants.js');
  return `module.exports = ${JSON.stringify({ ERROR, TYPE })};`;
}

const wasmName = (id) => id.replace(/^.*\/(\w+)-wasm\.js$/, '$1.wasm');

/** Chunks are one folder below dist/. */
function createWasmReader(id) {
  return `import { readFileSync } from 'node:fs';
export const read = () => readFileSync(new URL('../llhttp/${wasmName(id)}', import.meta.url));`;
}

const wasmRequires = /require\('(\.\.\/llhttp\/\w+-wasm\.js)'\)/g;

/** For rolldown. */
export const slimUndici = {
  name: 'slim-undici',
  resolveId(id, importer) {
    if (!importer || !undici.test(importer)) return null;
    return replacements.some(([pattern]) => pattern.test(id)) ? `${prefix}${id}` : null;
  },
  load(id) {
    if (!id.startsWith(prefix)) return null;
    const name = id.slice(prefix.length);
    return replacements.find(([pattern]) => pattern.test(name))[1](name);
  },
  transform(source, id) {
    if (!undici.test(id)) return null;
    let code = source;
    if (id.endsWith('/client-h1.js')) {
      const wasms = [...source.matchAll(wasmRequires)].map(([, path]) => path);
      if (wasms.length !== 3) throw new Error('undici has another form than expected: adapt scripts/slim-undici.mjs');
      for (const path of wasms)
        this.emitFile({ type: 'asset', fileName: `llhttp/${wasmName(path)}`, source: require(`undici/lib/dispatcher/${path}`) });
      code = source.replace(wasmRequires, '$&.read()');
    }
    // Comments and white space are read at every start.
    return { code: minifySync(id, code, { compress: false, mangle: false }).code, map: null };
  },
};
