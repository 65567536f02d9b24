// The command line inside the test process: `program()` on a real workspace folder with real settings, a real SQLite database and a scripted
// model. Only the terminal is made of memory: what is printed is kept, answers and signals come from the test.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect } from 'vitest';
import type { Io, Stop } from '../../src/cli/io.ts';
import { program } from '../../src/cli/program.ts';
import { attachText, claimAttachments, dropAttachments, prepareFile } from '../../src/config/attachments.ts';
import { loadDialect } from '../../src/config/dialect.ts';
import { explainConfiguredAgent, explainConfiguredCall, listConfiguredPrograms } from '../../src/config/explain.ts';
import { readNamedFile } from '../../src/config/files.ts';
import { findFlowFile, listFlowFiles } from '../../src/config/flow-files.ts';
import { loadSettings } from '../../src/config/load.ts';
import { checkModel, findContextWindow, listModels, saveModel } from '../../src/config/model-choice.ts';
import { questionsShownAt, saveQuestionsShown } from '../../src/config/question-list.ts';
import { assertDatabaseReachable, assertRunnable } from '../../src/config/start-check.ts';
import { addTrust, listTrust, revokeTrust } from '../../src/config/trust.ts';
import type { Fact } from '../../src/contract/fact.ts';
import { connectToServer } from '../../src/main/connect.ts';
import { openFlows } from '../../src/main/flows.ts';
import { openOutput, readLines } from '../../src/main/line-files.ts';
import { openApi, openMemories } from '../../src/main/open-api.ts';
import { describeModelOptions, listKeyedModels } from '../../src/models/advice.ts';

/** `exitNow` ends a process at once: nothing after it runs. */
export class ExitNow extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit with ${code}`);
    this.code = code;
  }
}

export interface TestIo extends Io {
  stdout: string;
  stderr: string;
  /** Sends a signal to the program. */
  stop(why?: Stop): void;
  /** Runs every timer of the program once. */
  tick(): void;
  /** Opened and not yet closed APIs. */
  openApis: number;
}

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Started {
  io: TestIo;
  code: Promise<number>;
  result: Promise<Result>;
}

export interface Cli {
  folder: string;
  /** The real parts of the program's environment, to wrap one of them. */
  parts: RealParts;
  write(path: string, content: string | object): void;
  run(argv: string[], io?: Partial<Io>): Promise<Result>;
  /** The same without waiting for the end. */
  start(argv: string[], io?: Partial<Io>): Started;
  /** The value that a command prints with `--json`. */
  json<T>(...argv: string[]): Promise<T>;
  /** Facts of the newest tree; empty before there is one. */
  facts(): Promise<Fact[]>;
  /** Waits until the newest tree has a fact of this type. */
  untilFact(type: Fact['type']): Promise<void>;
  [Symbol.dispose](): void;
}

type RealParts = Pick<
  Io,
  | 'settings'
  | 'assertRunnable'
  | 'open'
  | 'dialect'
  | 'explain'
  | 'externalPrograms'
  | 'policy'
  | 'memories'
  | 'readFile'
  | 'resolvePath'
  | 'files'
  | 'lines'
  | 'output'
  | 'models'
  | 'trust'
  | 'flows'
  | 'questionList'
  | 'serverUrl'
  | 'connect'
>;

export interface CliOptions {
  /** The runs of the scripted model; one that answers `done` without it. */
  runs?: object[];
  /** Of the scripted model: its price and sizes. */
  model?: object;
  /** retinue.config.json of the workspace. */
  config?: object;
  files?: Record<string, string | object>;
  /** The current folder, relative to the workspace folder. */
  cwd?: string;
  /** More variables; an empty one is unset. */
  env?: Record<string, string>;
}

export function createCli({
  runs = [{ steps: [{ text: 'done' }] }],
  model,
  config,
  files = {},
  cwd = '.',
  env: more = {},
}: CliOptions = {}): Cli {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'retinue-cli-')));
  const folder = join(root, 'work');
  const home = join(root, 'home');
  for (const path of [folder, home]) mkdirSync(path);
  const env = { HOME: home, PATH: '/nowhere', RETINUE_MODEL: 'script/script.json', ...more };
  const write = (path: string, content: string | object) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  };
  write('script.json', { ...(model && { model }), runs });
  if (config) write('retinue.config.json', config);
  for (const [path, content] of Object.entries(files)) write(path, content);
  mkdirSync(join(folder, cwd), { recursive: true });
  const parts = realParts(join(folder, cwd), env);
  setEnvironment(env);

  function start(argv: string[], more: Partial<Io> = {}): Started {
    const io = createTestIo({ ...parts, ...more });
    setEnvironment(env);
    const code = program(argv, io);
    const result = code.then((ended) => ({ code: ended, stdout: io.stdout, stderr: io.stderr }));
    result.catch(() => {});
    return { io, code, result };
  }

  const run: Cli['run'] = (argv, io) => start(argv, io).result;
  const facts = async () => {
    const { code, stdout } = await run(['logs', 'last', '--tree', '--json']);
    return code === 0 ? (JSON.parse(stdout) as Fact[]) : [];
  };
  return {
    folder,
    parts,
    write,
    run,
    start,
    json: async (...argv) => JSON.parse((await run([...argv, '--json'])).stdout),
    facts,
    untilFact: async (type) => expect.poll(async () => (await facts()).map((fact) => fact.type), { timeout: 10_000 }).toContain(type),
    [Symbol.dispose]() {
      setEnvironment(Object.fromEntries(before));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const ownVariables = ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'];
const before = new Map(ownVariables.map((name) => [name, process.env[name]]));

/** The composition root reads these from the process, which other test files share: they are restored when a `Cli` is disposed. */
function setEnvironment(env: Record<string, string | undefined>): void {
  for (const name of ownVariables) {
    if (env[name] === undefined) delete process.env[name];
    else process.env[name] = env[name];
  }
}

function realParts(cwd: string, env: Record<string, string>): RealParts {
  return {
    settings: async (flags) => loadSettings(flags, { cwd, env }),
    async assertRunnable(settings, { database }) {
      await assertRunnable(settings, env);
      if (database) assertDatabaseReachable(settings.db);
    },
    open: openApi,
    dialect: (name, settings) => loadDialect(name, settings, env),
    externalPrograms: (settings) => listConfiguredPrograms(settings, env),
    explain: (settings, name) => explainConfiguredAgent(settings, name, env),
    policy: (settings, question) => explainConfiguredCall(settings, question, env),
    memories: openMemories,
    resolvePath: (path) => resolve(cwd, path),
    readFile: async (path) => readNamedFile(cwd, path, 1_048_576),
    files: {
      prepare: (workspace, path) => prepareFile(workspace, cwd, path),
      attach: attachText,
      claim: async (workspace, files, runId) =>
        runId === null ? dropAttachments(workspace, files) : claimAttachments(workspace, files, runId),
    },
    async *lines(path) {
      yield* readLines(cwd, path);
    },
    output: async (path) => openOutput(cwd, path),
    models: {
      list: (settings) => listModels(settings, env),
      advice: () => describeModelOptions({ env, probe: globalThis.fetch }),
      keyed: async () => listKeyedModels(env),
      contextWindow: (settings, name) => findContextWindow(settings, name, env),
      check: (settings, name) => checkModel(settings, name, env),
      save: async (name) => saveModel(name, env),
    },
    flows: {
      list: async ({ workspace }) => listFlowFiles(workspace, env),
      find: async ({ workspace }, given) => findFlowFile(given, { workspace, cwd }),
      start: async (api, { workspace }, { file, input, options }) =>
        api.flow(await openFlows(workspace, env, api).open(file), input, options),
    },
    trust: {
      list: async () => listTrust(env),
      add: async (items) => addTrust(env, items, new Date().toISOString()),
      revoke: async (workspace) => revokeTrust(env, workspace),
    },
    questionList: {
      shownAt: async (source) => questionsShownAt(env, source),
      save: async (source, at) => saveQuestionsShown(env, source, at),
    },
    serverUrl: env.RETINUE_SERVER ?? null,
    connect: async (server, warn) => connectToServer(server, { cwd, env, warn }),
  };
}

/** A terminal made of memory. Parts that are neither here nor in `parts` reject when they are used. */
export function createTestIo(parts: Partial<Io> = {}): TestIo {
  const handlers = new Set<(why: Stop) => void>();
  const timers = new Set<() => void>();
  const missing = (name: string) => async () => Promise.reject(new Error(`the test has no ${name}`));
  const io: TestIo = {
    ...{ version: '9.9.9', stdout: '', stderr: '', openApis: 0, trace: {} },
    ...{ outTTY: false, errTTY: false, colour: { out: false, err: false }, columns: () => 80, rows: () => 24 },
    ...{ interactive: false, ask: async () => null, now: Date.now, serverUrl: null, connect: missing('server') },
    out(text) {
      io.stdout += text;
    },
    outBytes(bytes) {
      io.stdout += Buffer.from(bytes).toString('utf8');
    },
    resolvePath: (path) => path,
    err(text) {
      io.stderr += text;
    },
    onInterrupt(handler) {
      handlers.add(handler);
      return () => void handlers.delete(handler);
    },
    exitNow(code) {
      throw new ExitNow(code);
    },
    repeat(_, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    stop: (why = 'interrupt') => {
      for (const handler of [...handlers]) handler(why);
    },
    tick: () => {
      for (const timer of [...timers]) timer();
    },
    readStdin: async () => '',
    readFile: missing('files'),
    files: { prepare: missing('files'), attach: missing('files'), claim: async () => {} },
    async *lines() {},
    output: missing('files'),
    assertNotBelowRun: async () => {},
    settings: missing('settings'),
    assertRunnable: missing('settings'),
    open: missing('database'),
    dialect: missing('dialects'),
    serveMcp: missing('MCP client'),
    serveAcp: missing('editor'),
    acpInstall: { plan: missing('editor'), test: missing('editor') },
    serve: missing('network'),
    work: missing('PostgreSQL'),
    mcpInstall: {
      plan: missing('MCP client'),
      apply: missing('MCP client'),
      variables: missing('MCP client'),
      test: missing('MCP client'),
    },
    demo: missing('demo'),
    rightsDemo: missing('demo'),
    mergeDemo: missing('demo'),
    crashDemo: missing('demo'),
    longDemo: missing('demo'),
    clusterDemo: missing('demo'),
    externalPrograms: missing('agents'),
    explain: missing('agents'),
    policy: missing('rules'),
    memories: missing('database'),
    findToolProcess: async () => null,
    models: {
      list: async () => [],
      advice: missing('models'),
      keyed: async () => [],
      contextWindow: async () => null,
      check: missing('models'),
      save: missing('models'),
    },
    flows: { list: async () => [], find: missing('flows'), start: missing('flows') },
    evals: {
      prepare: missing('evals'),
      planReplay: missing('evals'),
      checkNames: missing('evals'),
      commandRules: missing('evals'),
      start: missing('evals'),
    },
    trust: { list: async () => [], add: async () => {}, revoke: async () => [] },
    questionList: { shownAt: async () => null, save: async () => {} },
    testNotification: async () => [],
    workspaces: { list: async () => [], read: missing('database') },
    doctor: async () => [],
    screen: missing('screen'),
    detach: missing('background processes'),
    ...parts,
  };
  const { open } = io;
  io.open = async (...given) => {
    const api = await open(...given);
    io.openApis++;
    return {
      ...api,
      close: async () => {
        await api.close();
        io.openApis--;
      },
    };
  };
  return io;
}
