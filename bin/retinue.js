#!/usr/bin/env node
// Starts the command line on the Node that runs this file, and checks its version before it loads code that an old version could not parse.
// `bin/retinue` starts this file with the Node of the package.

/** An import would load everything that the module exports, which takes 10 ms for `node:fs`. An old Node can only import. */
const builtIn = async (name) => process.getBuiltinModule?.(name) ?? (await import(name));
const { existsSync } = await builtIn('node:fs');

/** Where npm puts the package `node`: below this package or, in a project, beside it. */
const ownNodes = ['../node_modules/node/bin/node', '../../node/bin/node'];

const problem = await findProblem();
if (problem === null) {
  (await builtIn('node:module')).enableCompileCache?.();
  const { main } = await import('../dist/cli.js');
  await main(process.argv.slice(2));
} else {
  process.stderr.write(`retinue: ${problem}\n`);
  process.exitCode = 2;
}

async function findProblem() {
  if (!existsSync(new URL('../dist/cli.js', import.meta.url))) return 'this folder is not built yet; `npm ci` in it does that';
  const { describeOldNode } = await import('../dist/node-version.js');
  const old = describeOldNode(process.versions.node);
  if (old === null) return null;
  const hasOwnNode = ownNodes.some((path) => existsSync(new URL(path, import.meta.url)));
  return hasOwnNode
    ? `${old} Start \`bin/retinue\` instead, which uses the Node that comes with the package.`
    : `${old} Install it, or let npm bring it along: install Retinue again without --omit=optional, and with --allow-scripts=node if npm asks for it.`;
}
