// Tables of `retinue agents` beside the list of agents: hidden definitions, and skills.
import type { ConfiguredSkills } from '../../config/settings.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatTable } from '../../views/style.ts';
import type { Io } from '../io.ts';

/** Definitions that are not used, because another one has the name. */
export function formatHidden(hidden: { name: string; source: string; by: string }[], title: string, io: Io): string {
  const rows = hidden.map(({ name, source, by }) => [name, source, by]);
  return formatRows([`HIDDEN ${title}`, 'DEFINED IN', 'HIDDEN BY'], rows, io);
}

export function formatSkills({ list, hidden, leftOut }: ConfiguredSkills, io: Io): string {
  const rows = list.map(({ name, source, description }) => {
    const keys = leftOut.filter((each) => each.source === source).map(({ what }) => what.replaceAll('`', ''));
    return [name, source, keys.join(', '), description];
  });
  return `${formatRows(['SKILL', 'DEFINED IN', 'LEFT OUT', 'DESCRIPTION'], rows, io)}${formatHidden(hidden, 'SKILL', io)}`;
}

/** Nothing without rows. */
function formatRows(titles: string[], rows: string[][], io: Io): string {
  if (rows.length === 0) return '';
  const lines = formatTable(
    titles.map((title, index) => ({ title, ...(index === titles.length - 1 && { flexible: true }) })),
    rows.map((row) => row.map(sanitizeLine)),
    { columns: io.outTTY ? io.columns() : 1000, colour: io.colour.out, style: (_, column) => (column === 0 ? 'bold' : null) },
  );
  return `\n${lines.join('\n')}\n`;
}
