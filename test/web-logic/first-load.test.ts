// What a browser loads before the first page shows something.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../../dist/web');
const page = readFileSync(join(folder, 'index.html'), 'utf8');
const scripts = [...page.matchAll(/(?:src|href)="(\/[^"]+\.js)"/g)].map(([, path]) => path as string);

it('is at most 150 KB of script, gzipped', () => {
  expect(scripts.length).toBeGreaterThan(1);
  const bytes = scripts.reduce((sum, path) => sum + gzipSync(readFileSync(join(folder, path))).length, 0);
  expect(bytes).toBeLessThan(150_000);
});

it('has no inline script or style, which the content security policy forbids, and nothing from elsewhere', () => {
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  expect(page).not.toMatch(/(?:src|href)="(?!\/[^/])/);
});

it('contains React as it is for production', () => {
  const text = scripts.map((path) => readFileSync(join(folder, path), 'utf8')).join('');
  // A name of functions that only React's build for development has.
  expect(text).not.toContain('react_stack_bottom_frame');
});
