#!/usr/bin/env node
// The door of the command line: checks Node's version before anything that an old one could not parse, then loads the bundle.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `retinue needs Node 24 or later; this is ${process.version}. From a clone, \`npx retinue\` brings the right one along.\n`,
  );
  process.exitCode = 2;
} else {
  (await import('node:module')).enableCompileCache?.();
  const { main } = await import('../dist/cli.js');
  await main(process.argv.slice(2));
}
