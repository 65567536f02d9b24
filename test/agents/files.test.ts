import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../src/agents/catalog.ts';
import { agentOf, load, one, problemsOf, warningsOf } from './support.ts';

const noDelegation = [
  ...['delegate*', 'subagent*', 'spawn_subagent', 'parallel_subagent', 'task', 'task_*'],
  ...['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage'],
  ...['spawn_agent', 'send_input', 'resume_agent', 'wait_agent', 'close_agent'],
];

describe('an agent file', () => {
  test('is front matter and a prompt', () => {
    const text =
      '\ufeff---\r\nname: code-reviewer\r\ndescription: Reviews code.\r\nmaxTurns: 12\r\n---\r\n\r\n# You review\r\n\r\n---\r\nBe kind.\r\n';
    const { agents, refused, warnings } = load({ path: '.claude/agents/r.md', text });
    expect([refused, warnings]).toEqual([[], []]);
    expect(agents).toEqual([
      {
        name: 'code-reviewer',
        description: 'Reviews code.',
        prompt: '# You review\r\n\r\n---\r\nBe kind.',
        limits: { maxTurns: 12 },
        source: '.claude/agents/r.md',
      },
    ]);
    expect(createCatalog(agents).get('code-reviewer')?.tools).toBeUndefined();
  });

  test('supports all keys', () => {
    const agent = agentOf(
      [
        'tools: [Read, Bash]',
        'disallowedTools: Write',
        'model: [anthropic/x, openai/y]',
        'maxTurns: 7',
        'timeout: 10m',
        'limits: { maxCostUsd: 0.5, maxDepth: 2 }',
        'rules: ["deny read:secrets/*"]',
        'workspaceRules: false',
        'color: blue',
      ].join('\n'),
    );
    expect(agent).toMatchObject({
      tools: ['read', 'bash'],
      disallowedTools: [...noDelegation, 'write'],
      model: ['anthropic/x', 'openai/y'],
      limits: { maxTurns: 7, timeoutMs: 600_000, maxCostUsd: 0.5, maxDepth: 2 },
      rules: ['deny read:secrets/*'],
      workspaceRules: false,
    });
  });

  test('without front matter is ignored with a warning', () => {
    const { agents, refused, warnings } = load({ path: 'README.md', text: '# Our agents\n' });
    expect([agents, refused]).toEqual([[], []]);
    expect(warnings).toEqual([{ source: 'README.md', message: 'it has no front matter, so it is ignored' }]);
  });

  test('accepts an unquoted description with colons', () => {
    const { agents } = one('name: a\ndescription: Use this. Examples:\\n\\n<example>Context: "x": y # z</example>');
    expect(agents[0]?.description).toBe('Use this. Examples: <example>Context: "x": y # z</example>');
    expect(agentOf(`color: "${'x'.repeat(10)}"`).description).toBe('d');
    expect(one(`name: a\ndescription: ${'word '.repeat(500)}`).agents[0]?.description).toHaveLength(1_000);
  });

  test('the same name twice: the error names both files, and neither is used', () => {
    const text = '---\nname: a\ndescription: d\n---\nx';
    const { agents, refused } = load({ path: '.retinue/agents/a.md', text }, { path: '.claude/agents/b.md', text });
    expect(agents).toEqual([]);
    expect(refused).toEqual([
      {
        name: 'a',
        source: '.retinue/agents/a.md',
        problems: ['the agent a is defined twice: in .retinue/agents/a.md and in .claude/agents/b.md'],
      },
    ]);
  });
});

describe('tools', () => {
  const table: [written: string, tools: string[] | undefined, delegates: boolean][] = [
    ['', undefined, true],
    ['tools: "*"', undefined, true],
    ['tools: [Read, "*"]', undefined, true],
    ['tools: []', [], false],
    ['tools: ""', [], false],
    ['tools: Read, Write, Edit, MultiEdit, Glob, Grep, LS', ['read', 'write', 'edit', 'glob', 'grep', 'list'], false],
    ['tools: read,BASH , webFetch,WebSearch,TodoWrite', ['read', 'bash', 'webfetch', 'websearch', 'todo'], false],
    ['tools: Read, Task', ['read'], true],
    ['tools: [Agent]', [], true],
    ['tools: [Read, NotebookEdit, KillShell]', ['read'], false],
    ['tools: [memory, scratchpad, list]', ['memory', 'scratchpad', 'list'], false],
    ['tools: [Read, searchDocs]', ['read', 'searchDocs'], false],
    ['permissionMode: plan', ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch', 'todo', 'skill'], true],
    ['permissionMode: plan\ntools: Read, Write, Bash', ['read'], false],
    ['permissionMode: default', undefined, true],
  ];
  test.each(table)('%j', (written, tools, delegates) => {
    const agent = agentOf(written);
    expect(agent.tools).toEqual(tools);
    expect(agent.disallowedTools ?? []).toEqual(delegates ? [] : noDelegation);
    expect(agent.rules).toBeUndefined();
  });

  test.each([
    ['tools: Task\nchildTools: Read, Edit, Bash', ['read', 'edit', 'bash']],
    ['tools: Task\nchildTools: "*"', ['*']],
    ['tools: Task\nchildTools: []', []],
    ['tools: Read, Task\npermissionMode: plan\nchildTools: Read, Write, Edit', ['read']],
    ['tools: Task', undefined],
  ])('%j: what children may use', (written, childTools) => {
    expect(agentOf(written).childTools).toEqual(childTools);
  });

  const rules: [written: string, rules: string[] | undefined][] = [
    ['tools: Read, Bash(git log:*), Bash(npm run test)', ['deny bash', 'allow bash:git log *', 'allow bash:npm run test']],
    ['tools: Bash, Bash(git log:*)', undefined],
    ['tools: Bash(*)', undefined],
    ['tools: ["Bash(git add:*, git commit:*)"]', ['deny bash', 'allow bash:git add:*, git commit *']],
    ['disallowedTools: Bash(rm:*)\nrules: ["allow bash:rm -i *"]', ['allow bash:rm -i *', 'deny bash:rm *']],
  ];
  test.each(rules)('%j become rules', (written, expected) => {
    const agent = agentOf(written);
    expect(agent.rules).toEqual(expected);
    if (written.startsWith('tools')) expect(agent.tools).toContain('bash');
  });

  test('disallowed tools', () => {
    expect(agentOf('disallowedTools: Write, Edit').disallowedTools).toEqual(['write', 'edit']);
    expect(agentOf('disallowedTools: [Task]').disallowedTools).toEqual(noDelegation);
    expect(agentOf('disallowedTools: ["*"]').disallowedTools).toEqual(['*']);
    expect(agentOf('disallowedTools: [NotebookEdit]').disallowedTools).toBeUndefined();
    expect(agentOf('disallowedTools: [mcp__github__push]').disallowedTools).toEqual(['mcp__github__push']);
  });
});

describe('the model', () => {
  const table: [written: string, model: string | string[] | undefined, warned: boolean][] = [
    ['inherit', undefined, false],
    ['anthropic/claude-x', 'anthropic/claude-x', false],
    ['[anthropic/x, openai/y]', ['anthropic/x', 'openai/y'], false],
    ['sonnet', undefined, true],
    ['claude-opus-4-6', undefined, true],
    ['[sonnet, openai/y]', 'openai/y', true],
  ];
  test.each(table)('%s', (written, model, warned) => {
    expect(agentOf(`model: ${written}`).model).toEqual(model);
    expect(warningsOf(`model: ${written}`)).toHaveLength(warned ? 1 : 0);
  });
});

describe('an error says where and why', () => {
  const table: [lines: string, said: string | RegExp][] = [
    ['hooks: {}', 'a.md:4: `hooks` is refused: an agent cannot run commands outside its tools'],
    ['mcpServers: 3', '`mcpServers` must be a list of names'],
    ['mcpServers: [[x]]', '`mcpServers` must be a list of names'],
    ['mcpServers: [GitHub]', '`mcpServers`: `GitHub` must be the name of a server'],
    ['mcpServers: [a__b]', 'must be the name of a server'],
    ['mcpServers: [{ x: 3 }]', '`mcpServers.x` '],
    ['mcpServers: [{ x: { args: [] } }]', '`mcpServers.x` must have either a `command` or a `url`'],
    ['mcpServers: [{ x: { command: a, url: "http://b" } }]', 'must have either a `command` or a `url`'],
    ['mcpServers: [{ x: { comand: a } }]', 'unknown key `mcpServers.x.comand`; did you mean `command`?'],
    ['mcpServers: [{ x: { url: "ftp://b" } }]', '`mcpServers.x.url` must be an http or https address'],
    ['mcpServers: [{ x: { url: "http://b", env: { A: b } } }]', '`mcpServers.x.env` must not be combined with `url`'],
    ['mcpServers: [{ x: { command: a, type: sse } }]', '`mcpServers.x.type` must be `stdio`'],
    ['mcpServers: [{ x: { command: a, envFrom: ["sk-123"] } }]', 'must be the name of a variable'],
    ['mcpServers: [{ x: { command: a, timeout: 0 } }]', '`mcpServers.x.timeout` must be a number of seconds above 0'],
    ['env: { A: b }', '`env` is refused'],
    ['isolation: container', '`isolation` must be `worktree`'],
    ['allowedTools: Read', '`allowedTools` is refused: use `tools`'],
    ['allowed-tools: Read', 'use `tools`'],
    ['permissions: { allow: [] }', 'use `rules`'],
    ['permissionMode: bypassPermissions', '`permissionMode: bypassPermissions` is refused: an agent can only narrow rights'],
    ['permissionMode: acceptEdits', 'is refused'],
    ['permissionMode: [plan]', 'is refused'],
    ['permisionMode: plan', 'unknown key `permisionMode`; did you mean `permissionMode`?'],
    ['disalowedTools: Bash', 'unknown key `disalowedTools`; did you mean `disallowedTools`?'],
    ['Tools: Read', 'unknown key `Tools`; did you mean `tools`?'],
    ['tols: Read', 'unknown key `tols`; did you mean `tools`?'],
    ['maxturn: 3', 'unknown key `maxturn`; did you mean `maxTurns`?'],
    ['autoApprove: true', 'unknown key `autoApprove` (it seems to be about rights'],
    ['read-only: true', '`read-only`'],
    ['toolset: x', '`toolset`'],
    ['max_steps: 3', '`max_steps`'],
    ['dissallowedtools: x', 'did you mean `disallowedTools`?'],
    ['mode: yolo', '`mode`'],
    ['api-key: x', '`api-key`'],
    ['<<: { tools: [] }', '`<<` is refused: merging is not supported'],
    ['color: red\ntools:', 'a.md:5: `tools` must be a list of names, such as `Read, Grep`; `[]` means none'],
    ['tools: 3', '`tools` must be a list of names'],
    ['tools: [1]', '`tools` must be a list of names'],
    ['tools: Read(src/**)', '`tools`: `Read(src/**)` is refused: only Bash and Skill accept a pattern here'],
    ['tools: Agent(worker)', 'delegation cannot be limited to some agents'],
    ['tools: Read Write', '`tools`: `Read Write` is not a tool name'],
    ['color: red\ndisallowedTools: Bsah', 'a.md:5: `disallowedTools`: there is no tool `Bsah`; did you mean `bash`?'],
    ['model: 3', '`model` must be `provider/model`'],
    ['model: []', '`model` must be'],
    ['maxTurns: 0', '`maxTurns` is invalid'],
    ['maxTurns: 501', '`maxTurns` is invalid'],
    ['maxTurns: many', '`maxTurns` is invalid'],
    ['timeout: 0', '`timeout` must be a duration such as `90s`'],
    ['timeout: soon', '`timeout` must be a duration'],
    ['timeout: 2147483648ms', '`timeout` must be a duration'],
    ['limits: { maxTurn: 3 }', 'unknown key `limits.maxTurn`; did you mean `limits.maxTurns`?'],
    ['limits: { maxCostUsd: -1 }', '`limits.maxCostUsd` is invalid'],
    ['limits: 3', '`limits` is invalid'],
    ['rules: deny bash', '`rules` must be a list'],
    ['rules: ["denny bash"]', /rule `denny bash`.*did you mean `deny`/],
    ['workspaceRules: 1', '`workspaceRules` must be true or false'],
  ];
  test('a pattern that is too long', () => {
    expect(problemsOf(`tools: "Bash(${'x'.repeat(2000)})"`).join()).toContain('longer than 1000 characters');
  });
  test.each(table)('%s', (lines, said) => {
    const problems = problemsOf(lines).join('\n');
    if (typeof said === 'string') expect(problems).toContain(said);
    else expect(problems).toMatch(said);
    expect(problems).toMatch(/^a\.md:\d+: /);
  });

  const names: [lines: string, said: string][] = [
    ['description: d', 'a.md:1: `name` is missing'],
    ['name: Code Reviewer\ndescription: d', 'a.md:2: `name` may contain only lower-case letters, digits, - and _; write `code-reviewer`'],
    ['name: ""\ndescription: d', '`name` must be a non-empty text'],
    ['name: dex/explorer\ndescription: d', 'the dialect dex has an agent dex/explorer of its own; choose another name'],
    ['name: openfork/main\ndescription: d', 'the dialect openfork has an agent openfork/main of its own'],
    ['name: rx/mine\ndescription: d', 'names that begin with rx/ are reserved for the dialect rx'],
    ['name: a\ndescription: []', '`description` must be a non-empty text'],
  ];
  test.each(names)('%j', (lines, said) => {
    expect(one(lines).refused[0]?.problems.join('\n')).toContain(said);
  });

  test('reports all problems of a file at once, under the name it would have', () => {
    const { refused } = one('name: x\ndescription: d\nhooks: {}\ntools: 3', 'dir/y.md');
    expect(refused).toEqual([{ name: 'x', source: 'dir/y.md', problems: [expect.any(String), expect.any(String)] }]);
    expect(one('hooks: {}', 'dir/y.md').refused[0]?.name).toBe('y');
  });

  test('a missing prompt', () => {
    expect(load({ path: 'a.md', text: '---\nname: a\ndescription: d\n---\n \n' }).refused[0]?.problems).toEqual([
      'a.md:1: there is no prompt; write it below the front matter',
    ]);
  });
});

describe('a warning', () => {
  const table: [lines: string, said: string | RegExp][] = [
    ['colour: red', 'line 4: unknown key `colour`; did you mean `color`?; it has no effect'],
    ['__proto__: { tools: [] }', 'unknown key `__proto__`'],
    ['copyright: me', 'unknown key `copyright`; it has no effect'],
    ['author: me', 'unknown key `author`'],
    ['version: 1', 'unknown key `version`'],
    ['tags: [x]', 'unknown key `tags`'],
    ['constructor: x', 'unknown key `constructor`'],
    ['category: dev', 'line 4: unknown key `category`; it has no effect'],
    ['memory: project', '`memory` has no effect'],
    ['background: true', '`background` has no effect'],
    ['tools: [Raed]', '`tools`: there is no tool `Raed`; did you mean `read`?'],
    ['tools: [NotebookEdit]', '`tools`: Retinue has no tool NotebookEdit'],
    ['disallowedTools: [searchDocs]', '`disallowedTools`: there is no tool `searchDocs`'],
  ];
  test.each(table)('%s', (lines, said) => {
    expect(problemsOf(lines)).toEqual([]);
    expect(warningsOf(lines).join('\n')).toContain(said);
  });

  test('for a missing description', () => {
    expect(one('name: a').warnings[0]?.message).toContain('`description` is missing');
    expect(one('name: a').agents[0]?.description).toBe('');
  });
});
