// `npm run torture -- [--kills N] [--seed S] [--jobs N]`: real processes, real databases, kill -9. Build first: it runs dist/.
import { parseArgs } from 'node:util';
import { printTortured } from './print.ts';
import { torture } from './torture.ts';

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' }, jobs: { type: 'string' } } });
const result = await torture({ kills: Number(values.kills ?? 1000), seed: Number(values.seed ?? 1), jobs: Number(values.jobs ?? 2) });
process.stdout.write(printTortured(result));
process.exitCode = result.failed.length === 0 ? 0 : 1;
