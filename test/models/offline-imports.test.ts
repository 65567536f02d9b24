import { expect, test } from 'vitest';
import { importRuleOf } from '../../src/models/offline/imports.ts';
import { extensionOf } from '../../src/models/offline/languages.ts';

const known = new Set([
  'src/a.ts',
  'src/lib/index.ts',
  'src/view.tsx',
  'pkg/core.py',
  'pkg/sub/__init__.py',
  'native/src/quay.rs',
  'native/src/deep/mod.rs',
  'app/src/org/x/Ship.java',
  'c/util.h',
]);

/** A line of a file, and what it imports: files with `/`, packages without a mark, files that were not found with `?`. */
const table: [file: string, line: string, imports: string[]][] = [
  ['src/b.ts', "import { x } from './a.ts';", ['file src/a.ts']],
  ['src/b.ts', "import { x } from './a';", ['file src/a.ts']],
  ['src/b.ts', "import x from './a.js'", ['file src/a.ts']],
  ['src/b.ts', "} from './lib'", ['file src/lib/index.ts']],
  ['src/b.ts', 'export * from "./view";', ['file src/view.tsx']],
  ['test/b.ts', "import type { X } from '../src/a.ts';", ['file src/a.ts']],
  ['src/b.ts', "import '../../../../escape'", ['file escape']],
  ['src/b.ts', "import '@/alias/x'", ['file @/alias/x']],
  ['src/b.ts', "import fs from 'node:fs/promises';", ['package node:fs']],
  ['src/b.ts', "import x from '@scope/name/deep';", ['package @scope/name']],
  ['src/b.js', 'const a = require(\'a\'), b = require( "b/c" );', ['package a', 'package b']],
  ['src/b.js', "const x = await import('./a.ts');", ['file src/a.ts']],
  ['src/b.ts', "const text = 'import x from y';", []],
  ['src/b.ts', "  imported from 'elsewhere'", []],
  ['pkg/x.py', 'import os, sys as system', ['package os', 'package sys']],
  ['pkg/x.py', 'import numpy.linalg as la', ['package numpy']],
  ['pkg/x.py', 'from .core import x', ['file pkg/core.py']],
  ['pkg/sub/y.py', 'from ..core import x', ['file pkg/core.py']],
  ['pkg/x.py', 'from . import sub', ['file pkg']],
  ['pkg/x.py', 'from pkg.core import x', ['file pkg/core.py']],
  ['pkg/x.py', 'import pkg.sub', ['file pkg/sub/__init__.py']],
  ['pkg/x.py', 'import', []],
  ['s/x.go', 'import "fmt"', ['package fmt']],
  ['s/x.go', '\tchi "github.com/go-chi/chi/v5" // router', ['package github.com/go-chi/chi/v5']],
  ['s/x.go', '\t"a value",', []],
  ['native/src/lib.rs', 'mod quay;', ['file native/src/quay.rs']],
  ['native/src/lib.rs', 'pub(crate) mod deep;', ['file native/src/deep/mod.rs']],
  ['native/src/lib.rs', 'mod tests {', []],
  ['native/src/x/y.rs', 'use crate::quay::Quay;', ['file native/src/quay.rs']],
  ['native/src/lib.rs', 'use crate::gone::X;', ['file crate::gone']],
  ['native/src/lib.rs', 'use serde::{Serialize};', ['package serde']],
  ['native/src/lib.rs', 'use super::*;', []],
  ['app/src/org/x/Main.java', 'import org.x.Ship;', ['file app/src/org/x/Ship.java']],
  ['app/src/org/x/Main.java', 'import static org.junit.jupiter.api.Assertions.*;', ['package org.junit.jupiter']],
  ['app/src/org/x/Main.java', 'import java.util.*;', ['package java']],
  ['app/src/Main.kt', 'import kotlin.test.Test', ['package kotlin.test']],
  ['c/x.c', '#include "util.h"', ['file c/util.h']],
  ['c/x.c', '# include <stdio.h>', ['package stdio.h']],
];

test.each(table)('%s: %s', (file, line, imports) => {
  const rule = importRuleOf(extensionOf(file));
  expect(rule?.read(line, file, known).map(({ kind, name }) => `${kind} ${name}`)).toEqual(imports);
  // What the rule reads, its search finds.
  if (imports.length > 0) expect(line).toMatch(new RegExp(rule?.pattern ?? '$^'));
});

test.each(['constructor', '__proto__', '', 'md'])('no rule for %s', (extension) => {
  expect(importRuleOf(extension)).toBeNull();
});

test('a line made to be slow is read at once', () => {
  const line = `import ${'from '.repeat(80)}${"'".repeat(50)}`.slice(0, 500);
  const start = performance.now();
  for (let i = 0; i < 1000; i++) importRuleOf('ts')?.read(line, 'a.ts', known);
  expect(performance.now() - start).toBeLessThan(1000);
});
