// Commands whose results are the same in a sandbox and without one.
import { expect } from 'vitest';

interface CommandRow {
  command: string;
  output: string;
  isError?: true;
}

export const commandTable: CommandRow[] = [
  { command: 'echo hello', output: 'hello' },
  { command: 'true', output: '[no output]' },
  { command: 'printf "a\\n\\nb\\n\\n"', output: 'a\n\nb\n' },
  { command: 'exit 3', output: '[exit code 3]', isError: true },
  { command: 'echo before; false', output: 'before\n[exit code 1]', isError: true },
  { command: 'cat; echo read', output: 'read' },
  { command: '[[ a == a* ]] && echo bash', output: 'bash' },
  { command: 'printf "\\xff\\xfe"', output: '\ufffd\ufffd' },
  { command: 'echo "$0" "$#"', output: expect.stringMatching(/bash 0$/) },
];
