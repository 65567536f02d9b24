// Changes when constants of our modules are made: schemas, what consists of them, and what modules of Node export. In the sources they are constants, made
// when their module is loaded; in the package each of them is a function that makes it at its first use and remembers it. A start needs few of
// the hundreds of schemas, and making them was a third of it.
//
//   export const Name = z.string().max(200);      becomes      var Name$made;
//   parse(Name, given);                                        export function Name() { return Name$made ??= (z.string().max(200)); }
//                                                              parse((Name()), given);
//
// This is invisible because such constants depend on nothing that changes, and making them has no effects.
import { readFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { RolldownMagicString } from 'rolldown';
import { parseSync } from 'rolldown/utils';
import { deferredBuiltin } from './look-up-builtins.mjs';
import { findReferences, isPlainExpression, namesOf } from './syntax.mjs';

const valuesPrefix = '\0values:';
/** `node:sqlite` is loaded with the entry point that needs it, so that a program which must not load it can avoid it by its imports. */
const isDeferredBuiltin = (specifier) => specifier.startsWith('node:') && specifier !== 'node:sqlite';

/**
 * For rolldown; several builds may share it. `entries`: modules whose exports are part of the package's interface, so they stay values. `folder`: of the
 * modules that are changed.
 */
export function deferConstants(entries, folder = 'src') {
  const sources = resolve(folder) + sep;
  const isOurs = (id) => id.startsWith(sources) && /\.tsx?$/.test(id);
  const entryFiles = new Set(entries.map((entry) => resolve(entry)));
  const analyses = new Map();

  /** What is deferred in a module: local names, exported names, and the declarations to change. */
  function analyse(file) {
    let analysis = analyses.get(file);
    if (!analysis) {
      analysis = analyseModule(readFileSync(file, 'utf8'), file, { analyse, isOurs, isEntry: entryFiles.has(file) });
      analyses.set(file, analysis);
    }
    return analysis;
  }

  return {
    name: 'defer-constants',
    resolveId: (id) => (id.startsWith(valuesPrefix) ? id : null),
    /** Some code needs a module with all its values: `import()`, `import *`, and users of the package. */
    load(id) {
      if (!id.startsWith(valuesPrefix)) return null;
      const file = id.slice(valuesPrefix.length);
      const names = [...analyse(file).exported];
      const from = JSON.stringify(file);
      return [
        `import { ${names.map((name) => `${name} as ${name}$make`).join(', ')} } from ${from};`,
        `export * from ${from};`,
        ...names.map((name) => `const ${name}$value = /* @__PURE__ */ ${name}$make();`),
        `export { ${names.map((name) => `${name}$value as ${name}`).join(', ')} };`,
      ].join('\n');
    },
    transform: {
      filter: { id: /\.tsx?$/ },
      handler(source, id) {
        if (!isOurs(id)) return null;
        const text = new RolldownMagicString(source);
        const isChanged = changeModule(text, { ...analyse(id), analyse, isOurs, file: id, isEntry: entryFiles.has(id) });
        return isChanged ? { code: text.toString(), map: text.generateMap({ source: id, hires: 'boundary' }).toString() } : null;
      },
    },
  };
}

/** The file of a relative import; null for packages. */
const importedFile = (specifier, file) => (specifier.startsWith('.') ? resolve(dirname(file), specifier) : null);
const isType = (node) => node.importKind === 'type' || node.exportKind === 'type';

function analyseModule(source, file, { analyse, isOurs, isEntry }) {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const deferred = new Set();
  const exported = new Set();
  const variables = new Set();
  const constants = [];
  /** Names that make a constant one of schemas: `z`, deferred constants except those of Node, and functions that only make a schema. */
  const schemas = new Set();
  const makers = new Set();

  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration' && !isType(statement)) addImports(statement);
    else if (statement.type === 'ExportNamedDeclaration' && statement.source && !isType(statement)) addReexports(statement);
    else addConstant(statement);
  }
  for (const statement of program.body)
    if (statement.type === 'ExportNamedDeclaration' && !statement.source && !statement.declaration && !isType(statement))
      for (const { local, exported: name } of statement.specifiers) if (deferred.has(local.name)) exported.add(name.name);
  return { program, deferred, exported, makers, constants };

  function addImports({ source: { value: from }, specifiers }) {
    const target = importedFile(from, file);
    for (const specifier of specifiers.filter((each) => !isType(each))) {
      const { local } = specifier;
      if (from === 'zod') schemas.add(local.name);
      else if (isDeferredBuiltin(from)) deferred.add(local.name);
      else if (specifier.type === 'ImportSpecifier' && target && isOurs(target)) {
        const found = analyse(target);
        const isDeferred = found.exported.has(specifier.imported.name);
        if (isDeferred) deferred.add(local.name);
        if (isDeferred || found.makers.has(specifier.imported.name)) schemas.add(local.name);
      }
    }
  }

  function addReexports({ source: { value: from }, specifiers }) {
    const target = importedFile(from, file);
    if (isEntry || !target || !isOurs(target)) return;
    for (const { local, exported: name } of specifiers) if (analyse(target).exported.has(local.name)) exported.add(name.name);
  }

  function addConstant(statement) {
    const isExported = statement.type === 'ExportNamedDeclaration';
    const declaration = isExported ? statement.declaration : statement;
    if (declaration?.type !== 'VariableDeclaration') return;
    if (declaration.kind !== 'const') for (const { id } of declaration.declarations) for (const name of namesOf(id)) variables.add(name);
    const [{ id, init }, ...others] = declaration.declarations;
    if (declaration.kind !== 'const' || others.length > 0 || id.type !== 'Identifier' || (isExported && isEntry)) return;
    const isFunction = init.type === 'ArrowFunctionExpression';
    const used = new Set();
    if (!isPlainExpression(isFunction ? init.body : init, used) || ![...used].some((name) => schemas.has(name))) return;
    if ([...used].some((name) => variables.has(name))) return;
    if (isFunction) {
      schemas.add(id.name);
      if (isExported) makers.add(id.name);
      return;
    }
    deferred.add(id.name);
    schemas.add(id.name);
    if (isExported) exported.add(id.name);
    constants.push({ statement, isExported, name: id.name, init });
  }
}

/** False if there is nothing to change. */
function changeModule(text, { program, deferred, constants, analyse, isOurs, file, isEntry }) {
  let isChanged = constants.length > 0;
  const declared = new Set(constants.map(({ statement }) => statement));
  const replace = ({ start, end }, by) => {
    text.update(start, end, by);
    isChanged = true;
  };
  /** Imports of a whole module, which must have values. */
  const importValues = (source) => {
    const target = typeof source?.value === 'string' ? importedFile(source.value, file) : null;
    if (target && isOurs(target) && analyse(target).exported.size > 0) replace(source, JSON.stringify(valuesPrefix + target));
  };

  for (const statement of program.body) {
    if (isType(statement)) continue;
    if (statement.type === 'ImportDeclaration') {
      const isWhole = statement.specifiers.some(({ type }) => type === 'ImportNamespaceSpecifier');
      if (isDeferredBuiltin(statement.source.value)) {
        if (isWhole) throw new Error(`${file}: import the names of ${statement.source.value} that are used`);
        if (statement.specifiers.length > 0) replace(statement.source, JSON.stringify(deferredBuiltin(statement.source.value)));
      } else if (isWhole) importValues(statement.source);
    } else if (isEntry && statement.type === 'ExportNamedDeclaration' && statement.source) importValues(statement.source);
    else if (statement.type === 'ExportAllDeclaration') throw new Error(`${file}: export names, not all of a module`);
  }
  findReferences(program, {
    names: deferred,
    reference(node, isShorthand) {
      text.appendLeft(node.end, isShorthand ? `: (${node.name}())` : '())');
      if (!isShorthand) text.prependRight(node.start, '(');
      isChanged = true;
    },
    dynamicImport: importValues,
    isDeclaration: (node) => declared.has(node),
  });
  for (const { statement, isExported, name, init } of constants) {
    text.update(
      statement.start,
      init.start,
      `var ${name}$made; ${isExported ? 'export ' : ''}function ${name}() { return ${name}$made ??= (`,
    );
    text.update(init.end, statement.end, '); }');
  }
  return isChanged;
}
