// The external agents of `retinue agents`: which are installed, and what is enforced for them.
import { sanitizeLine } from '../../text/terminal.ts';
import { formatTable } from '../../views/style.ts';
import type { ExternalRow, Io } from '../io.ts';

type Promises = ExternalRow['promises']['gate'];

/** Who keeps a promise. */
export const enforcerNames: Record<Promises[number]['by'], string> = {
  gate: 'gate',
  sandbox: 'sandbox',
  retinue: 'retinue',
  agent: 'own word',
};

/** Approvals are kept like rules, and deadlines always by Retinue. */
const shown: readonly Promises[number]['promise'][] = ['rules', 'budget', 'tokens', 'key', 'files', 'network', 'processes'];

const legend =
  'Kept by the model gate, the sandbox or Retinue itself; "own word": only by the agent. `retinue agents programs --json` says how.';

/** One line for each program that can be started and each kind of login; the others with what to do. */
export function formatPrograms(rows: ExternalRow[], io: Io): string {
  const usable = rows.filter(({ problem }) => problem === null);
  const others = rows.filter(({ problem }) => problem !== null);
  const toLine = (name: string, version: string | null, promises: Promises) => [
    name,
    version ?? '',
    ...shown.map((name) => enforcerNames[promises.find(({ promise }) => promise === name)?.by ?? 'agent']),
  ];
  const lines = usable.flatMap(({ program, version, promises }) => [
    toLine(program, version, promises.gate),
    toLine(`${program}, login: own`, version, promises.own),
  ]);
  const titles = ['EXTERNAL', 'VERSION', ...shown.map((name) => name.toUpperCase())];
  const table = formatTable(
    titles.map((title) => ({ title })),
    lines.map((row) => row.map(sanitizeLine)),
    { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style: (_, column) => (column === 0 ? 'bold' : null) },
  );
  const missing = others.map(({ program, problem }) => `${program}: ${sanitizeLine(problem ?? '')}`);
  return `${[...(usable.length > 0 ? [...table, legend] : []), ...missing].join('\n')}\n`;
}
