// Loaded before every entry point of the library (scripts/build.mjs), which an old Node could load but not run.
import { describeOldNode } from '../system/node-version.ts';

const problem = describeOldNode(process.versions.node);
if (problem !== null) throw new Error(problem);
