// Which test files need a process of their own: those that measure or change the process they run in. It is read off the files, so that no list has to be kept.
import { globSync, readFileSync } from 'node:fs';

const ownProcess = [
  /process\.memoryUsage|\bgc\(\)|\/proc\/self\/fd/,
  /process\.env\.\w+ = |process\.(on|chdir|umask)\(/,
  /vi\.(mock|spyOn|stub\w+|useFakeTimers)\(/,
];

export function isolatedTests(patterns: string[]): string[] {
  return globSync(patterns).filter((file) => {
    const text = readFileSync(file, 'utf8');
    return ownProcess.some((pattern) => pattern.test(text));
  });
}
