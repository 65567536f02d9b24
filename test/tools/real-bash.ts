// Runs command lines in real bash, with a PATH that contains only programs that record their arguments.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programs, wrappers } from './shell-generator.ts';

const driver = `cd "$1/work" || exit 1
for ((i = 0; i < $2; i++)); do
  IFS= read -r -d '' text < "$1/scripts/$i"
  LOG="$1/logs/$i" PATH="$1/bin" FUNCNEST=20 /usr/bin/timeout -k 1 5 /bin/bash --norc --noprofile -p -c "$text" </dev/null >/dev/null 2>&1
done`;

/** For each script the programs that were started, with their arguments. */
export function startedBy(folder: string, scripts: string[]): string[][][] {
  for (const each of ['bin', 'work', 'scripts', 'logs']) mkdirSync(join(folder, each));
  for (const program of programs) {
    const file = join(folder, 'bin', program);
    writeFileSync(file, `#!/bin/sh\nprintf '%s\\000' ${program} "$@" --end >> "$LOG"\n`);
    chmodSync(file, 0o755);
  }
  for (const wrapper of wrappers)
    symlinkSync(spawnSync('/bin/sh', ['-c', `command -v ${wrapper}`], { encoding: 'utf8' }).stdout.trim(), join(folder, 'bin', wrapper));
  for (const [index, text] of scripts.entries()) {
    writeFileSync(join(folder, 'scripts', String(index)), text);
    writeFileSync(join(folder, 'logs', String(index)), '');
  }
  const ran = spawnSync('/bin/bash', ['-c', driver, 'driver', folder, String(scripts.length)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (ran.status === null) throw new Error(`the driver was ended: ${ran.stderr}`);
  return scripts.map((_, index) => callsIn(readFileSync(join(folder, 'logs', String(index)), 'utf8')));
}

function callsIn(log: string): string[][] {
  return log
    .split('\0--end\0')
    .filter((call) => call !== '')
    .map((call) => call.split('\0'));
}
