// Flags that a command has but cannot use here. Ignoring them would mislead the user.
import { RetinueError } from '../../contract/error.ts';
import type { Args, Flag } from './parse-args.ts';

/** Throws `usage` for flags of the command that its action, such as `flow list`, does not use. */
export function assertActionFlags(args: Args, action: string, usable: Flag[]): void {
  const other = args.given.find(({ name }) => usable.every((flag) => flag.name !== name));
  if (other === undefined) return;
  const names = usable.map(({ name }) => `--${name}`).join(', ');
  throw new RetinueError('usage', `--${other.name} has no effect on \`retinue ${action}\`, which takes only ${names}; remove it`);
}

/** Throws `usage` if the events of a run are asked for on the output of a command that does not wait for it. */
export function assertFollowed(args: Args, flag: 'detach' | 'queue', what: 'run' | 'flow'): void {
  if (args.has('stream-json') && args.has(flag))
    throw new RetinueError(
      'usage',
      `--${flag} and --stream-json cannot be combined; follow the ${what} with \`retinue logs ID -f --json\``,
    );
}
