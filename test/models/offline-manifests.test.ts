import { expect, test } from 'vitest';
import { parseToml } from '../../src/models/offline/manifests/toml.ts';
import { isManifest, parseManifest } from '../../src/models/offline/manifests.ts';

const entry = (path: string, why: string) => ({ path, why });

test.each([
  {
    path: 'package.json',
    text: JSON.stringify({
      name: 'x',
      bin: './cli.js',
      main: 'main.js',
      exports: { './a': { types: './a.d.ts', import: './a.js' }, './b': './b.js', './package.json': './package.json' },
      dependencies: { b: '1', a: '1' },
      peerDependencies: { a: '1', c: '1' },
      devDependencies: { d: '1' },
      scripts: { test: 'node --test' },
    }),
    expected: {
      name: 'x',
      runtime: ['b', 'a', 'c'],
      development: ['d'],
      testCommand: 'node --test',
      entries: [entry('./cli.js', 'command x'), entry('main.js', 'main'), entry('./a.js', 'exports ./a'), entry('./b.js', 'exports ./b')],
    },
  },
  { path: 'package.json', text: '{"name":"x","dependencies":{"a":"1","b', expected: { name: 'x', runtime: ['a'], whole: true } },
  { path: 'package.json', text: 'not json', expected: { name: '', runtime: [], whole: false } },
  { path: 'package.json', text: '[1,2]', expected: { runtime: [], whole: false } },
  {
    path: 'package.json',
    text: '{"name":7,"bin":[],"exports":null,"dependencies":"x","scripts":3}',
    expected: { name: '', runtime: [], entries: [] },
  },
  {
    path: 'package.json',
    text: '{"__proto__":{"name":"evil"},"dependencies":{"__proto__":"1"}}',
    expected: { name: '', runtime: ['__proto__'] },
  },
  {
    path: 'pyproject.toml',
    text: '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\npython = "^3"\nrequests = {version = "2"}\n[tool.poetry.group.dev.dependencies]\nblack = "*"\n',
    expected: { name: 'p', runtime: ['requests'], development: ['black'] },
  },
  {
    path: 'pyproject.toml',
    text: '[project]\nname = "p"\ndependencies = ["a[x]>=1; python_version<\'4\'", # no\n "b"]\n[dependency-groups]\ndev = [{include-group = "t"}, "c"]\n',
    expected: { runtime: ['a', 'b'], development: ['t', 'c'] },
  },
  { path: 'requirements.txt', text: '# x\na==1\n-r other.txt\nB >= 2\ngit+https://x\n\n', expected: { runtime: ['a', 'B'] } },
  {
    path: 'go.mod',
    text: 'module m\n\nrequire example.org/one v1.0.0\nrequire (\n\texample.org/two v2.0.0\n\tz v0.0.0 // indirect\n)\nreplace (\n\ta v1 => b v2\n)',
    expected: { name: 'm', runtime: ['example.org/one', 'example.org/two'] },
  },
  {
    path: 'Cargo.toml',
    text: '[package]\nname = "r"\n[dependencies]\na = "1"\nb.workspace = true\n[dependencies.c]\nversion = "1"\n[dev-dependencies]\nd = "1"\n[[bin]]\nname = "t"\npath = "src/t.rs"\n',
    expected: { name: 'r', runtime: ['a', 'b', 'c'], development: ['d'], entries: [entry('src/t.rs', 'command t')] },
  },
  {
    path: 'pom.xml',
    text: '<project><parent><artifactId>no</artifactId></parent><artifactId>me</artifactId><dependencies><dependency><artifactId>a</artifactId></dependency><dependency><artifactId>junit</artifactId><scope>test</scope></dependency>',
    expected: { name: 'me', runtime: ['a'], development: ['junit'] },
  },
  {
    path: 'build.gradle.kts',
    text: 'dependencies {\n  implementation("g:a:1")\n  testImplementation("g:t:1")\n  api \'h:b:2\'\n}',
    expected: { runtime: ['g:a', 'h:b'], development: ['g:t'] },
  },
  {
    path: 'composer.json',
    text: '{"require":{"php":"8","a/b":"1"},"require-dev":{"c/d":"1"}}',
    expected: { runtime: ['a/b'], development: ['c/d'] },
  },
  {
    path: 'Gemfile',
    text: "gem 'rails'\ngroup :test do\n  gem 'rspec'\nend\ngem \"pg\"",
    expected: { runtime: ['rails', 'pg'], development: ['rspec'] },
  },
])('$path: $text', ({ path, text, expected }) => {
  expect(parseManifest(path, text, true)).toMatchObject(expected);
});

test('what is no manifest', () => {
  expect(isManifest('a/package.json')).toBe(true);
  expect(isManifest('test/fixtures/x/package.json')).toBe(false);
  expect(isManifest('constructor')).toBe(false);
  expect(parseManifest('README.md', '', true)).toBeNull();
  expect(parseManifest('package.json', '{}', false)?.whole).toBe(false);
});

test.each(['[[[[', 'a = [', '= 3', 'x = "', '[a\nb = [["c", \'d', `${'['.repeat(1000)}`, `k = ${'"#'.repeat(2000)}`])(
  'TOML that breaks off: %s',
  (text) => {
    expect(() => parseToml(text)).not.toThrow();
  },
);
