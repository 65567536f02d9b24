// Every key of every format of another program: what it becomes, and what is said about it if it has no effect.
import { describe, expect, test } from 'vitest';
import { type AgentFormat, type LoadedAgents, loadAgents } from '../../src/agents/files.ts';
import { claudeFormat } from '../../src/agents/formats/claude.ts';
import { codexFormat } from '../../src/agents/formats/codex.ts';
import { geminiFormat } from '../../src/agents/formats/gemini.ts';
import { githubFormat } from '../../src/agents/formats/github.ts';
import { gooseFormat } from '../../src/agents/formats/goose.ts';
import { opencodeConfigFormat, opencodeFormat } from '../../src/agents/formats/opencode.ts';
import { parseDuration } from '../../src/config/duration.ts';
import type { Agent } from '../../src/contract/agent.ts';
import { parseRule } from '../../src/rules/policy.ts';

const deps = { checkRule: parseRule, durationMs: parseDuration };
const noDelegation = [
  ...[
    'delegate*',
    'subagent*',
    'spawn_subagent',
    'parallel_subagent',
    'task',
    'task_*',
    'Agent',
    'Task',
    'TaskOutput',
    'TaskStop',
    'SendMessage',
  ],
  ...['spawn_agent', 'send_input', 'resume_agent', 'wait_agent', 'close_agent'],
];

function load(format: AgentFormat, path: string, text: string): LoadedAgents {
  return loadAgents([{ path, text }], deps, format);
}

const markdown = (format: AgentFormat, path: string) => (lines: string) =>
  load(format, path, `---\ndescription: Does it.\n${lines}\n---\nDo it.\n`);

type Row = [written: string, becomes: Partial<Agent>, leftOut: string[]];

/** Checks the exact definition without the keys that every row has, and what is left out. */
function check(read: (lines: string) => LoadedAgents, rows: Row[]): void {
  test.each(rows)('%s', (written, becomes, leftOut) => {
    const { agents, refused, leftOut: found } = read(written);
    expect(refused).toEqual([]);
    const { name: _, description: __, prompt: ___, source: ____, ...rest } = agents[0] as Agent;
    const { name: wantedName, description, prompt, source, ...wanted } = becomes;
    expect(rest).toEqual(wanted);
    expect(agents[0]).toMatchObject({
      ...(wantedName && { name: wantedName }),
      ...(prompt && { prompt }),
      ...(description && { description }),
    });
    expect(found.map(({ what }) => what)).toEqual(leftOut);
    for (const { why } of found) expect(why.length).toBeGreaterThan(10);
  });
}

function checkRefused(read: (lines: string) => LoadedAgents, rows: [written: string, said: RegExp][]): void {
  test.each(rows)('%s is refused', (written, said) => {
    const { agents, refused } = read(written);
    expect(agents).toEqual([]);
    expect(refused[0]?.problems.join('\n')).toMatch(said);
  });
}

describe('Claude Code', () => {
  const read = markdown(claudeFormat, '.claude/agents/file.md');
  check(read, [
    ['name: rev', { name: 'rev' }, []],
    ['name: Code Reviewer', { name: 'code-reviewer' }, ['`name: Code Reviewer`']],
    ['', { name: 'file', prompt: 'Do it.' }, []],
    ['omitClaudeMd: true', { workspaceRules: false }, []],
    ['omitClaudeMd: false', {}, []],
    ['omitClaudeMd: 7', {}, ['`omitClaudeMd: 7`']],
    [
      'autoCompactWindow: 100000\nobserver: watcher\nobserverMessage: look\nobserveSubagents: true',
      {},
      ['`autoCompactWindow`', '`observer`', '`observerMessage`', '`observeSubagents`'],
    ],
    ['tools: Read, LS, MultiEdit, TodoWrite, Skill, Task', { tools: ['read', 'list', 'edit', 'todo', 'skill'] }, []],
    [
      'tools: [NotebookEdit, SlashCommand]',
      { tools: [], disallowedTools: noDelegation },
      ['`tools: NotebookEdit`', '`tools: SlashCommand`'],
    ],
    [
      'tools: Read(./src/**), Agent(a, b), Grep',
      { tools: ['grep'], disallowedTools: noDelegation },
      ['`tools: Read(./src/**)`', '`tools: Agent(a, b)`'],
    ],
    [
      'tools: Bash(git log:*), Skill(deploy), Task',
      { tools: ['bash', 'skill'], rules: ['deny bash', 'allow bash:git log *', 'deny skill', 'allow skill:deploy'] },
      [],
    ],
    ['tools: mcp__github__get_issue, mcp__files, Task', { tools: ['mcp__github__get_issue', 'mcp__files__*'] }, []],
    [
      'disallowedTools: Write, Edit(./x), Bash(rm:*)',
      { disallowedTools: ['write', 'edit'], rules: ['deny bash:rm *'] },
      ['`disallowedTools: Edit(./x)`'],
    ],
    ['disallowedTools: NotebookEdit', {}, ['`disallowedTools: NotebookEdit`']],
    ['model: claude-opus-4-5', { model: 'anthropic/claude-opus-4-5' }, []],
    ['model: sonnet', {}, ['`model: sonnet`']],
    ['model: inherit', {}, []],
    ['rules: [deny bash]\ntimeout: 90s', { rules: ['deny bash'], limits: { timeoutMs: 90_000 } }, []],
    ['maxTurns: 9', { limits: { maxTurns: 9 } }, []],
    ['maxTurns: 900', {}, ['`maxTurns: 900`']],
    ['permissionMode: plan', { tools: ['read', 'list', 'glob', 'grep', 'webfetch', 'websearch', 'todo', 'skill'] }, []],
    ['permissionMode: bypassPermissions', {}, ['`permissionMode: bypassPermissions`']],
    ['permissionMode: default', {}, []],
    ['mcpServers: [github]', { mcpServers: ['github'] }, []],
    [
      'mcpServers: [{mine: {type: stdio, command: npx, args: [x]}}]',
      { mcpServers: [{ mine: { type: 'stdio', command: 'npx', args: ['x'] } }] },
      [],
    ],
    ['mcpServers: [{mine: {command: npx, oauth: {}}}]', { mcpServers: [] }, ['MCP server mine']],
    ['skills: [pdf]', { prompt: 'Do it.\n\nBefore you begin, load with the tool `skill`: pdf.' }, []],
    ['isolation: worktree', { isolation: 'worktree' }, []],
    ['memory: user', {}, ['`memory`']],
    ['background: true', {}, ['`background`']],
    ['color: red', {}, ['`color`']],
    ['initialPrompt: go', {}, ['`initialPrompt`']],
    ['futureThing: 1', {}, ['`futureThing`']],
    ['hooks: {Stop: [{hooks: [{type: command, command: x}]}]}', {}, ['`hooks`']],
    ['hooks: {PreToolUse: [{matcher: "Bash|Write", hooks: []}]}', { disallowedTools: ['bash', 'write'] }, ['`hooks`', 'tools bash, write']],
    [
      'tools: Read, Bash\nhooks: {PreToolUse: [{hooks: []}]}',
      {
        tools: ['read', 'bash'],
        disallowedTools: [...noDelegation, 'write', 'edit', 'bash', 'webfetch', 'websearch', 'skill', 'memory', 'mcp__*', ...noDelegation],
      },
      ['`hooks`', 'tools write, edit, bash, webfetch, websearch, skill, memory, mcp__*, Task'],
    ],
  ]);
  checkRefused(read, [
    ['env: {A: b}', /file\.md:3: `env` is refused/],
    ['disalowedTools: Bash', /unknown key `disalowedTools`; did you mean `disallowedTools`/],
    ['disallowedTools: Wirte', /there is no tool `Wirte`; did you mean `write`/],
    ['isolation: container', /`isolation` must be `worktree`/],
    ['tools: {a: 1}', /`tools` must be a list of names/],
    ['name: ralph/x', /reserved for the dialect ralph/],
  ]);

  test('the effort is passed on as the key of Retinue', () => {
    const { agents, warnings } = read('effort: high');
    expect(agents).toHaveLength(1);
    expect('effort' in (agents[0] as object) || warnings.some(({ message }) => message.includes('`effort`'))).toBe(true);
  });
});

describe('opencode', () => {
  const read = markdown(opencodeFormat, '.opencode/agent/file.md');
  check(read, [
    ['mode: subagent', { name: 'file', prompt: 'Do it.' }, ['`mode`']],
    ['name: other', { name: 'other' }, []],
    ['model: anthropic/x', { model: 'anthropic/x' }, []],
    ['steps: 5', { limits: { maxTurns: 5 } }, []],
    ['maxSteps: 6', { limits: { maxTurns: 6 } }, []],
    [
      'temperature: 0.1\ntop_p: 1\nvariant: v\noptions: {}\nhidden: true\ncolor: "#fff000"',
      {},
      ['`temperature`', '`top_p`', '`variant`', '`options`', '`hidden`', '`color`'],
    ],
    ['tools: {write: false, bash: true}', { rules: ['deny edit', 'deny write', 'allow bash'] }, []],
    [
      'tools: {"*": false, read: true, nonsense: true, "gh_*": true}',
      { rules: ['deny *', 'allow read', 'allow mcp__gh__*'] },
      ['`allow nonsense`'],
    ],
    ['permission: ask', { rules: ['ask *'] }, []],
    ['permission: {bash: deny}\ntools: {bash: true}', { rules: ['allow bash', 'deny bash'] }, []],
    [
      'permission: {edit: deny, bash: {"*": ask, "git log *": allow}, webfetch: deny, skill: {"x-*": deny}, task: deny}',
      {
        rules: [
          'deny edit',
          'deny write',
          'ask bash',
          'allow bash:git log *',
          'deny webfetch',
          'deny skill:x-*',
          ...noDelegation.map((tool) => `deny ${tool}`),
        ],
      },
      [],
    ],
    ['permission: {external_directory: allow, doom_loop: ask}', {}, ['`allow external_directory`', '`ask doom_loop`']],
    ['permission: {grep: {"x*": deny, "y*": allow}}', { rules: ['deny grep'] }, ['`deny grep: x*`', '`allow grep: y*`']],
    ['permissions: [{action: bash, resource: "rm *", effect: deny}]', { rules: ['deny bash:rm *'] }, []],
  ]);
  checkRefused(read, [
    ['tools: [read]', /`tools` must be names with true or false/],
    ['permission: {bash: maybe}', /must be allow, ask or deny/],
    ['allowedCommands: x', /unknown key `allowedCommands`/],
  ]);

  test('an agent that its file disables is none', () => {
    const { agents, refused, warnings } = read('disable: true');
    expect([agents, refused]).toEqual([[], []]);
    expect(warnings[0]?.message).toBe('it is disabled in its file');
  });

  test('the configuration defines several, and other files are not read', () => {
    const text = `{ // agents
      "permission": "allow",
      "agent": {
        "build": { "model": "a/b" },
        "rev": { "prompt": "Review.", "description": "d", "permission": { "edit": "deny" } },
        "far": { "prompt": "{file:./secret.txt}", "description": "d" },
      } }`;
    const { agents, refused } = load(opencodeConfigFormat, 'opencode.json', text);
    expect(agents).toEqual([
      { name: 'rev', description: 'd', prompt: 'Review.', rules: ['deny edit', 'deny write'], source: 'opencode.json#rev' },
    ]);
    expect(refused).toMatchObject([
      { name: 'far', problems: [expect.stringMatching(/in another file/), expect.stringMatching(/no prompt/)] },
    ]);
  });
});

describe('Gemini CLI', () => {
  const read = markdown(geminiFormat, '.gemini/agents/file.md');
  const never = { disallowedTools: noDelegation };
  check(read, [
    ['name: sec\nkind: local\ndisplay_name: S', { name: 'sec', ...never }, ['`display_name`']],
    [
      'tools: [read_file, grep_search, run_shell_command, replace, write_file, list_directory, glob, web_fetch, google_web_search, write_todos, activate_skill]',
      {
        tools: ['read', 'grep', 'bash', 'edit', 'write', 'list', 'glob', 'webfetch', 'websearch', 'todo', 'skill'],
        disallowedTools: [...noDelegation, ...noDelegation],
      },
      [],
    ],
    ['tools: [ask_user]', { tools: [], disallowedTools: [...noDelegation, ...noDelegation] }, ['`tools: ask_user`']],
    ['tools: ["*"]', never, []],
    [
      'tools: [mcp_*, mcp_gh_*, mcp_gh_get_issue]',
      { tools: ['mcp__*', 'mcp__gh__*', 'mcp__gh__get_issue'], disallowedTools: [...noDelegation, ...noDelegation] },
      [],
    ],
    ['model: gemini-3-flash', { model: 'google/gemini-3-flash', ...never }, []],
    ['model: inherit', never, []],
    ['temperature: 1', never, ['`temperature`']],
    ['max_turns: 10\ntimeout_mins: 5', { limits: { maxTurns: 10, timeoutMs: 300_000 }, ...never }, []],
    [
      'mcpServers: {gh: {command: x, timeout: 5000, trust: true, include_tools: [a], exclude_tools: [b]}}',
      {
        mcpServers: [{ gh: { command: 'x', timeout: 5 } }],
        rules: ['deny mcp__gh__*', 'allow mcp__gh__a'],
        disallowedTools: ['mcp__gh__b', ...noDelegation],
      },
      ['MCP server gh: `trust`'],
    ],
    [
      'mcp_servers: {a: {http_url: "https://x.example"}}',
      { mcpServers: [{ a: { url: 'https://x.example', type: 'http' } }], ...never },
      [],
    ],
    ['mcp_servers: {a: {url: "https://x.example", auth: {type: oauth}}}', { mcpServers: [], ...never }, ['MCP server a']],
  ]);
  checkRefused(read, [
    ['kind: remote\nagent_card_url: https://x.example', /only local agents/],
    ['tools: read_file\nsandbox: off', /`sandbox` is refused/],
  ]);
});

describe('Codex', () => {
  const read = (lines: string) =>
    load(codexFormat, '.codex/agents/file.toml', `name = "rev"\ndescription = "d"\ndeveloper_instructions = """\nDo it.\n"""\n${lines}\n`);
  check(read, [
    ['nickname_candidates = ["A"]', { name: 'rev', prompt: 'Do it.' }, ['`nickname_candidates`']],
    ['model = "gpt-5.3"', { model: 'openai/gpt-5.3' }, []],
    ['model = "x"\nmodel_provider = "mine"', {}, ['`model`', '`model_provider`']],
    ['sandbox_mode = "read-only"', { disallowedTools: ['write', 'edit'] }, []],
    ['sandbox_mode = "workspace-write"', {}, []],
    ['sandbox_mode = "danger-full-access"', {}, ['`sandbox_mode: danger-full-access`']],
    ['approval_policy = "untrusted"', { rules: ['ask bash'] }, []],
    ['approval_policy = "never"', {}, ['`approval_policy`']],
    ['web_search = "disabled"', { disallowedTools: ['websearch'] }, []],
    ['web_search = "live"', {}, ['`web_search`']],
    ['notify = ["sh"]', {}, ['`notify`']],
    ['[hooks]\nx = 1', {}, ['`hooks`']],
    ['[agents]\nmax_depth = 0', { disallowedTools: noDelegation }, ['`agents`']],
    ['[[skills.config]]\npath = "x"', {}, ['`skills`']],
    ['model_instructions_file = "/etc/passwd"', {}, ['`model_instructions_file`']],
    ['[sandbox_workspace_write]\nnetwork_access = true', {}, ['`sandbox_workspace_write`']],
    ['[shell_environment_policy]\ninherit = "all"', {}, ['`shell_environment_policy`']],
    ['[model_providers.x]\nbase_url = "http://x"', {}, ['`model_providers`']],
    [
      '[mcp_servers.gh]\ncommand = "x"\nenv_vars = ["T"]\ntool_timeout_sec = 9\nenabled_tools = ["a"]\ndisabled_tools = ["b"]',
      {
        mcpServers: [{ gh: { command: 'x', envFrom: ['T'], timeout: 9 } }],
        rules: ['deny mcp__gh__*', 'allow mcp__gh__a'],
        disallowedTools: ['mcp__gh__b'],
      },
      [],
    ],
    ['[mcp_servers.off]\ncommand = "x"\nenabled = false', { mcpServers: [] }, ['MCP server off']],
  ]);
  checkRefused(read, [
    ['[permissions.x]\na = 1', /`permissions` is refused/],
    ['= 1', /file\.toml:\d+: invalid TOML/],
    ['developer_instructions = "twice"', /invalid TOML/],
  ]);
});

describe('GitHub Copilot', () => {
  const read = markdown(githubFormat, '.github/agents/my-file.agent.md');
  check(read, [
    ['name: Shown Name', { name: 'my-file' }, []],
    [
      'tools: [read, search, edit, execute, web, agent, todo]',
      { tools: ['read', 'grep', 'glob', 'list', 'edit', 'write', 'bash', 'webfetch', 'websearch', 'todo'] },
      [],
    ],
    [
      "tools: ['edit/editFiles', 'search/codebase', 'read/readFile', 'search/*', agent]",
      { tools: ['edit', 'write', 'grep', 'glob', 'list', 'read'] },
      [],
    ],
    [
      'tools: [github/get_issue, playwright/*, azure.ext/x, agent]',
      { tools: ['mcp__github__get_issue', 'mcp__playwright__*'] },
      ['`tools: azure.ext/x`'],
    ],
    ['tools: [problems]', { tools: [], disallowedTools: noDelegation }, ['`tools: problems`']],
    ['tools: ["*"]', {}, []],
    ['tools: []', { tools: [], disallowedTools: noDelegation }, []],
    ['model: GPT-5 (copilot)', {}, ['`model: GPT-5 (copilot)`']],
    ['model: openai/gpt-5', { model: 'openai/gpt-5' }, []],
    ['agents: []', { disallowedTools: noDelegation }, []],
    ['agents: [one]', { disallowedTools: noDelegation }, ['`agents`']],
    ['agents: ["*"]', {}, []],
    [
      'target: vscode\nuser-invocable: false\ndisable-model-invocation: false\ninfer: true\nargument-hint: x\nhandoffs: []\nmetadata: {}',
      {},
      ['`target`', '`user-invocable`', '`argument-hint`', '`handoffs`', '`metadata`'],
    ],
    ['disable-model-invocation: true', { modelInvocation: false }, []],
    ['infer: false', { modelInvocation: false }, []],
    [
      'hooks: {PreToolUse: [{type: command, command: ./x.sh}]}',
      { disallowedTools: ['write', 'edit', 'bash', 'webfetch', 'websearch', 'skill', 'memory', 'mcp__*', ...noDelegation] },
      ['`hooks`', expect.stringMatching(/^tools write/) as unknown as string],
    ],
    ['mcp-servers: {m: {type: local, command: x, tools: ["*"]}}', { mcpServers: [{ m: { type: 'stdio', command: 'x' } }] }, []],
    [`mcp-servers: {m: {type: local, command: x, tools: [a], env: {T: "\${{ secrets.T }}"}}}`, { mcpServers: [] }, ['MCP server m']],
  ]);
});

describe('Goose', () => {
  const read = (lines: string) =>
    load(gooseFormat, '.goose/recipes/file.yaml', `title: T\ndescription: d\ninstructions: Do it.\n${lines}\n`);
  check(read, [
    [
      'version: 1.0.0\nauthor: {contact: x}\nactivities: [a]',
      { name: 'file', description: 'T: d', prompt: 'Do it.' },
      ['`author`', '`activities`'],
    ],
    ['prompt: Now.', { prompt: 'Do it.\n\nNow.', hasTask: true }, []],
    [
      'parameters:\n  - {key: a, input_type: string, requirement: required, description: The a}\n  - {key: b, input_type: select, requirement: optional, default: x, options: [x, y], description: B}\n  - {key: c, input_type: file, requirement: user_prompt, description: C}',
      {
        description: '[params: a, b?, c] T: d',
        parameters: [
          { name: 'a', type: 'string', description: 'The a' },
          { name: 'b', type: 'select', description: 'B', default: 'x', options: ['x', 'y'] },
          { name: 'c', type: 'file', description: 'C' },
        ],
      },
      [],
    ],
    [
      'settings: {goose_provider: anthropic, goose_model: claude-x, temperature: 1, max_turns: 4}',
      { model: 'anthropic/claude-x', limits: { maxTurns: 4 } },
      ['`settings.temperature`'],
    ],
    ['settings: {goose_provider: databricks, goose_model: x}', {}, ['`settings.goose_model`']],
    ['response: {json_schema: {type: object}}', { result: { schema: { type: 'object' } } }, []],
    [
      'retry: {max_retries: 2, timeout_seconds: 9, on_failure: rm -rf x, checks: [{type: shell, command: npm test}]}',
      { checks: [{ command: 'npm test', timeoutMs: 9000 }], maxCheckRounds: 3 },
      ['`retry.on_failure`'],
    ],
    ['sub_recipes: [{name: x, path: ../../x.yaml}]', {}, ['`sub_recipes`']],
    [
      'extensions:\n  - {type: builtin, name: developer, available_tools: [shell]}\n  - {type: platform, name: todo}\n  - {type: builtin, name: computercontroller}\n  - {type: stdio, name: GH MCP, cmd: gh, args: [a], env_keys: [T], timeout: 60, available_tools: [q]}\n  - {type: inline_python, name: py, code: x}',
      {
        tools: ['bash', 'todo', 'mcp__gh-mcp__*'],
        disallowedTools: noDelegation,
        mcpServers: [{ 'gh-mcp': { command: 'gh', args: ['a'], envFrom: ['T'], timeout: 60 } }],
        rules: ['deny mcp__gh-mcp__*', 'allow mcp__gh-mcp__q'],
      },
      ['extension computercontroller', 'MCP server py'],
    ],
    ['extensions: []', { tools: [], disallowedTools: noDelegation, mcpServers: [] }, []],
    [
      'extensions: [{type: streamable_http, name: web, uri: "https://x.example/mcp"}]',
      { tools: ['mcp__web__*'], disallowedTools: noDelegation, mcpServers: [{ web: { type: 'http', url: 'https://x.example/mcp' } }] },
      [],
    ],
    [
      'extensions: [{type: stdio, name: t, cmd: "{{ cmd }}"}]',
      { tools: [], disallowedTools: noDelegation, mcpServers: [] },
      ['MCP server t'],
    ],
  ]);
  checkRefused(read, [
    ['prompt: "{% extends \'x.yaml\' %}"', /template statements/],
    ['parameters: [{key: "a b"}]', /`parameters.0.name` must be letters/],
    ['parameters: [{key: a, input_type: file, requirement: optional, default: /etc/passwd}]', /must not be given for a file/],
    ['retry: {checks: [{type: http}]}', /only checks of the type `shell`/],
  ]);

  test('JSON, and a recipe that was exported, are read too', () => {
    const recipe = { recipe: { title: 'T', description: 'd', prompt: 'Go.' } };
    expect(load(gooseFormat, 'a/x.json', JSON.stringify(recipe)).agents).toMatchObject([{ name: 'x', prompt: 'Go.', hasTask: true }]);
  });
});
