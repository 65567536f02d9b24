#!/usr/bin/env node
// Starts the command line: checks Node's version before loading code that an old version could not parse.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `retinue needs Node 24 or later; this is ${process.version}. In a clone, run it with \`npx retinue\`, which uses the Node of the package.\n`,
  );
  process.exitCode = 2;
} else {
  (await import('node:module')).enableCompileCache?.();
  const { main } = await import('../dist/cli.js');
  await main(process.argv.slice(2));
}
