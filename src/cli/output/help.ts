// The texts of `retinue --help` and `retinue COMMAND --help`.

import { paint } from '../../views/style.ts';
import { padToWidth } from '../../views/width.ts';
import type { Flag } from '../args/parse-args.ts';
import { type Command, groups, helpFlag } from '../command.ts';
import { commands } from '../commands.ts';

const titles: Record<Command['group'], string> = {
  run: 'Run',
  watch: 'Watch',
  control: 'Control',
  setup: 'Set up',
  records: 'Records',
  integrate: 'Integrate',
};
const nameWidth = 10;

export function overviewText(colour: boolean): string {
  const bold = (text: string) => paint(colour, 'bold', text);
  const lines = [
    'Retinue runs AI agents that can delegate work to other agents. Every step is recorded, so a run can be',
    'watched, steered, resumed after a crash, and verified.',
    '',
    'Usage: retinue "TASK"              the same as retinue run "TASK"',
    '       retinue COMMAND [flags]',
    '',
    'New here? `retinue demo` needs no API key and no network. `retinue doctor` checks your setup.',
  ];
  for (const group of groups) {
    lines.push('', bold(titles[group]));
    for (const { name, summary } of commands.filter((command) => command.group === group))
      lines.push(`  ${padToWidth(name, nameWidth)}${summary}`);
  }
  lines.push(
    '',
    '`retinue COMMAND --help` shows flags, examples and exit codes. Where a command takes an ID, the beginning of',
    'the id is enough, and `last` is the newest run.',
  );
  return `${lines.join('\n')}\n`;
}

export function commandHelp(command: Command, options: { colour: boolean; columns: number }): string {
  const bold = (text: string) => paint(options.colour, 'bold', text);
  const columns = Math.min(options.columns, 100);
  const lines = [
    `Usage: retinue ${command.name} ${command.usage}`,
    ...(command.aliases ?? []).map((alias) => `       retinue ${alias}`.concat(' … is the same')),
    '',
    ...wrap(`${toSentence(command.summary)} ${command.about}`, columns),
  ];
  lines.push('', bold('Flags'));
  const flags = [...command.flags, helpFlag].map((flag) => ({
    left: `${flag.short ? `-${flag.short}, ` : '    '}--${flag.name}${describeValue(flag)}`,
    right: flag.repeatable ? `${flag.help} (can be repeated)` : flag.help,
  }));
  const left = Math.max(...flags.map((flag) => flag.left.length)) + 4;
  for (const flag of flags) {
    const [first = '', ...more] = wrap(flag.right, Math.max(30, columns - left));
    lines.push(`  ${padToWidth(flag.left, left - 2)}${first}`, ...more.map((line) => ' '.repeat(left) + line));
  }
  lines.push('', bold('Examples'));
  for (const [example, explanation] of command.examples)
    lines.push(`  ${example}`, ...(explanation ? [paint(options.colour, 'dim', `      ${explanation}`)] : []));
  lines.push('', bold('Exit codes'), ...exitCodeLines[command.exitCodes].map((line) => `  ${line}`));
  return `${lines.join('\n')}\n`;
}

function describeValue({ value, isOptional }: Flag): string {
  if (!value) return '';
  return isOptional ? `[=${value}]` : ` ${value}`;
}

const exitCodeLines: Record<Command['exitCodes'], string[]> = {
  outcome: [
    '0 completed · 1 failed · 3 out of turns, tokens or budget · 4 timed out · 130 cancelled',
    '2 wrong arguments or configuration · 143 paused by SIGTERM or a closed terminal',
  ],
  command: ['0 success · 1 failed, or no such run · 2 wrong arguments or configuration'],
  watch: [
    '0 success · 1 failed, or no such run · 2 wrong arguments or configuration',
    '130 interrupted · 143 paused by SIGTERM or a closed terminal',
  ],
  either: [
    '0 sent, or the new run completed · 1 not sent, no such run, or the new run failed',
    '2 wrong arguments or configuration',
    'Of a new run also: 3 out of turns, tokens or budget · 4 timed out · 130 cancelled · 143 paused by SIGTERM or a closed terminal',
  ],
};

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** A line break in the text begins a new paragraph. */
function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => wrapParagraph(paragraph, columns));
}

function wrapParagraph(text: string, columns: number): string[] {
  if (text.length <= columns) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
