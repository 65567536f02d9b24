import type { Dialect } from '../ports/dialect.ts';
import { native } from './native.ts';

export const dialects: Dialect[] = [native];

export function findDialect(name: string): Dialect | null {
  return dialects.find((dialect) => dialect.name === name) ?? null;
}
