// Helpers for syntax trees of TypeScript modules, as rolldown's parser makes them.

const wrappers = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
]);
const functions = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const typeKeys = new Set(['typeAnnotation', 'typeParameters', 'typeArguments', 'returnType', 'superTypeArguments', 'implements']);
/** Expressions whose parts decide whether they have effects. Calls count as having none: this is for constants. */
const plainTypes = new Set([
  ...wrappers,
  ...['Literal', 'TemplateLiteral', 'TemplateElement', 'ObjectExpression', 'Property', 'SpreadElement', 'ArrayExpression'],
  ...['MemberExpression', 'CallExpression', 'ConditionalExpression', 'LogicalExpression', 'BinaryExpression', 'UnaryExpression'],
]);

/** The child nodes, without types. */
function* childrenOf(node) {
  if (wrappers.has(node.type)) return yield node.expression;
  for (const key in node) {
    if (typeKeys.has(key)) continue;
    const value = node[key];
    for (const each of Array.isArray(value) ? value : [value])
      if (typeof each?.type === 'string' && (!each.type.startsWith('TS') || wrappers.has(each.type))) yield each;
  }
}

/** The names that a pattern declares. */
export function namesOf(pattern) {
  if (!pattern) return [];
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ObjectPattern':
      return pattern.properties.flatMap((each) => namesOf(each.type === 'RestElement' ? each : each.value));
    case 'ArrayPattern':
      return pattern.elements.flatMap(namesOf);
    case 'AssignmentPattern':
      return namesOf(pattern.left);
    case 'RestElement':
      return namesOf(pattern.argument);
    default:
      return [];
  }
}

/** Whether a node names something without using its value, such as the key of a property. */
function isKey(node, parent) {
  if (parent.computed) return false;
  if (parent.type === 'MemberExpression') return parent.property === node;
  return ['Property', 'MethodDefinition', 'PropertyDefinition', 'AccessorProperty'].includes(parent.type) && parent.key === node;
}

/** Whether an expression only puts values together. Adds the names that it uses at once, not in functions, to `used`. */
export function isPlainExpression(node, used) {
  if (!node || functions.has(node.type)) return node !== null && node !== undefined;
  if (node.type === 'Identifier') {
    used.add(node.name);
    return true;
  }
  if (!plainTypes.has(node.type)) return false;
  for (const child of childrenOf(node))
    if (!(child.type === 'Identifier' && isKey(child, node)) && !isPlainExpression(child, used)) return false;
  return true;
}

/** The names that are declared in a scope which begins at this node. */
function declaredIn(node) {
  if (functions.has(node.type)) {
    const own = node.type === 'FunctionExpression' && node.id ? [node.id.name] : [];
    return [...own, ...node.params.flatMap(namesOf), ...hoistedIn(node.body)];
  }
  if (node.type === 'BlockStatement' || node.type === 'StaticBlock') return node.body.flatMap(namesOfStatement);
  if (node.type === 'SwitchStatement') return node.cases.flatMap(({ consequent }) => consequent.flatMap(namesOfStatement));
  if (node.type === 'CatchClause') return namesOf(node.param);
  if (node.type === 'ForStatement') return namesOfStatement(node.init);
  if (node.type === 'ForInStatement' || node.type === 'ForOfStatement') return namesOfStatement(node.left);
  if (node.type === 'ClassExpression') return namesOf(node.id);
  return [];
}

function namesOfStatement(node) {
  if (node?.type === 'VariableDeclaration') return node.declarations.flatMap(({ id }) => namesOf(id));
  return node?.type === 'FunctionDeclaration' || node?.type === 'ClassDeclaration' ? namesOf(node.id) : [];
}

/** The names that `var` declares in a function, in blocks too. */
function hoistedIn(node) {
  if (node.type === 'VariableDeclaration' && node.kind === 'var') return namesOfStatement(node);
  return functions.has(node.type) ? [] : [...childrenOf(node)].flatMap(hoistedIn);
}

/**
 * Calls `reference` for each use of a top-level name, with whether it is a property of the form `{ name }`, and `dynamicImport` with what is
 * imported by `import()`. `isDeclaration`: top-level statements that declare one of the names.
 */
export function findReferences(program, { names, reference, dynamicImport, isDeclaration }) {
  const visit = (node, hidden) => {
    const declared = names.size > 0 ? declaredIn(node).filter((name) => names.has(name)) : [];
    const inner = declared.length > 0 ? new Set([...hidden, ...declared]) : hidden;
    if (node.type === 'ImportExpression') dynamicImport(node.source);
    for (const child of childrenOf(node)) {
      if (child.type !== 'Identifier') visit(child, inner);
      else if (names.has(child.name) && !inner.has(child.name)) {
        const isShorthand = node.type === 'Property' && node.shorthand;
        // The key and the value of `{ name }` are at the same place.
        if (isShorthand ? node.value === child : !isKey(child, node)) reference(child, isShorthand);
      }
    }
  };
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration' || (statement.type === 'ExportNamedDeclaration' && !statement.declaration)) continue;
    const { declarations } = isDeclaration(statement) ? (statement.declaration ?? statement) : {};
    visit({ type: 'Part', part: declarations ? declarations[0].init : statement }, new Set());
  }
}
