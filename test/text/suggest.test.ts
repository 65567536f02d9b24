import { describe, expect, it } from 'vitest';
import { nearestName } from '../../src/text/suggest.ts';

describe('the nearest name', () => {
  const table: [word: string, candidates: string[], nearest: string | null][] = [
    ['shwo', ['ps', 'show'], 'show'],
    ['cancle', ['cancel', 'config'], 'cancel'],
    ['conf', ['config', 'cancel'], 'config'],
    ['Tools', ['tools'], 'tools'],
    ['explroer', ['explore', 'plan'], 'explore'],
    ['lsit', ['wait', 'list'], 'list'],
  ];
  it.each(table)('of `%s` in %j is %s', (word, candidates, nearest) => expect(nearestName(word, candidates)).toBe(nearest));

  const far: [word: string, candidates: string[]][] = [
    ['nope', ['home', 'root', 'opt']],
    ['fix', ['ps', 'fork', 'gc']],
    ['wipe', ['wait', 'size']],
    ['x', ['a', 'b']],
    ['', ['a']],
  ];
  it.each(far)('of `%s` in %j is none: too little is the same', (word, candidates) => expect(nearestName(word, candidates)).toBeNull());
});
