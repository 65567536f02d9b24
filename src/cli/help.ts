import { type Command, groups, help } from './command.ts';
import { commands } from './commands.ts';
import { paint } from './format.ts';
import { pad } from './width.ts';

const titles: Record<(typeof groups)[number], string> = { run: 'Run', watch: 'Watch', steer: 'Steer', prove: 'Prove', serve: 'Serve' };
const nameWidth = 10;

export function overview(colour: boolean): string {
  const lines = [
    'Retinue runs delegated agents: briefs in, facts out, one outcome each.',
    '',
    'Usage: retinue COMMAND …  or  retinue "TASK"',
  ];
  for (const group of groups) {
    const members = commands.filter((command) => command.group === group);
    if (members.length === 0) continue;
    lines.push('', paint(colour, 'bold', titles[group]));
    for (const command of members) lines.push(`  ${pad(command.name, nameWidth)}${command.summary}`);
  }
  lines.push('', '`retinue COMMAND --help` shows flags, examples and exit codes. `last` stands for the newest run; ids may be shortened.');
  return `${lines.join('\n')}\n`;
}

export function helpOf(command: Command, options: { colour: boolean; columns: number }): string {
  const bold = (text: string) => paint(options.colour, 'bold', text);
  const size = Math.min(options.columns, 100);
  const lines = [`Usage: retinue ${command.name} ${command.usage}`, '', ...wrap(`${sentence(command.summary)} ${command.about}`, size)];
  lines.push('', bold('Flags'));
  const flags = [...command.flags, help].map((flag) => ({
    left: `${flag.short ? `-${flag.short}, ` : '    '}--${flag.name}${flag.value ? ` ${flag.value}` : ''}`,
    right: flag.many ? `${flag.help} (may be repeated)` : flag.help,
  }));
  const left = Math.max(...flags.map((flag) => flag.left.length)) + 4;
  for (const flag of flags) {
    const [first = '', ...more] = wrap(flag.right, Math.max(30, size - left));
    lines.push(`  ${pad(flag.left, left - 2)}${first}`, ...more.map((line) => ' '.repeat(left) + line));
  }
  lines.push('', bold('Examples'));
  for (const [example, what] of command.examples)
    lines.push(`  ${example}`, ...(what ? [paint(options.colour, 'dim', `      ${what}`)] : []));
  lines.push('', bold('Exit codes'), ...exits[command.exits].map((line) => `  ${line}`));
  return `${lines.join('\n')}\n`;
}

const exits: Record<Command['exits'], string[]> = {
  outcome: [
    '0 completed · 1 failed · 3 exhausted (turns, tokens or money) · 4 timed out · 130 cancelled',
    '2 wrong usage or configuration',
  ],
  work: ['0 done · 1 no such run, or it could not be done · 2 wrong usage or configuration'],
};

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function wrap(text: string, size: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > size) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
