// The command line's `Io` on the real process: its streams, signals, files and adapters. Each part is imported when a command uses it.
import { relative, resolve } from 'node:path';
import { isatty } from 'node:tty';
import type { Io, Stop } from '../cli/io.ts';
import type { PolicyQuestion } from '../config/explain-call.ts';
import type { Settings } from '../config/settings.ts';
import type { Prompt } from '../tui/prompt.ts';
import type { AssemblyHooks } from './hooks.ts';
import { programFile } from './package-root.ts';

const maxStdinBytes = 64 * 1024 * 1024;
const maxFileBytes = 1_048_576;

export interface ProcessIoOptions {
  /** Folder of this package. */
  root: string;
  version: string;
  hooks: AssemblyHooks | undefined;
}

export function createProcessIo({ root, version, hooks }: ProcessIoOptions): Io {
  const { stdout, stderr, env } = process;
  const context = { cwd: process.cwd(), env };
  const onInterrupt = createInterruptSource();
  const err: Io['err'] = (text) => void stderr.write(text);
  const repeat: Io['repeat'] = (ms, run) => {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  };
  /** The same without keeping the process alive. */
  const repeatQuietly: Io['repeat'] = (ms, run) => {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  };
  /** Of the server that this process starts. */
  const serverTokens: string[] = [];
  const open: Io['open'] = async (settings, options) =>
    (await import('./open-api.ts')).openApi(settings, { ...options, serverTokens: () => serverTokens }, hooks);
  const files = () => import('../config/files.ts');
  const attachments = () => import('../config/attachments.ts');
  const models = () => import('../config/model-choice.ts');
  const trust = () => import('../config/trust.ts');
  const flowFiles = () => import('../config/flow-files.ts');
  const questionList = () => import('../config/question-list.ts');
  const installer = () => import('../config/mcp-install/install.ts');
  const explainer = () => import('../config/explain.ts');
  const demos = () => import('./demos.ts');
  const belowRun = () => import('./below-run.ts');
  const findToolProcess: Io['findToolProcess'] = async (runId) => (await import('../system/tool-process.ts')).findToolProcess(runId);
  return {
    version,
    out: (text) => void stdout.write(text),
    outBytes: (bytes) => void stdout.write(bytes),
    resolvePath: (path) => resolve(context.cwd, path),
    err,
    outTTY: stdout.isTTY === true,
    errTTY: stderr.isTTY === true && env.TERM !== 'dumb',
    colour: { out: usesColour(stdout.isTTY), err: usesColour(stderr.isTTY) },
    columns: () => (stdout.isTTY ? stdout.columns : stderr.columns) || 80,
    rows: () => (stderr.isTTY ? stderr.rows : stdout.rows) || 24,
    readStdin,
    trace: { traceparent: env.TRACEPARENT, tracestate: env.TRACESTATE },
    readFile: async (path) => (await files()).readNamedFile(context.cwd, path, maxFileBytes),
    async *lines(path) {
      yield* (await import('./line-files.ts')).readLines(context.cwd, path);
    },
    output: async (path) => (await import('./line-files.ts')).openOutput(context.cwd, path),
    files: {
      prepare: async (workspace, path) => (await attachments()).prepareFile(workspace, context.cwd, path),
      attach: async (workspace, name, text) => (await attachments()).attachText(workspace, name, text),
      claim: async (workspace, prepared, runId) => {
        const { claimAttachments, dropAttachments } = await attachments();
        if (runId === null) dropAttachments(workspace, prepared);
        else claimAttachments(workspace, prepared, runId);
      },
    },
    onInterrupt,
    exitNow: (code) => process.exit(code),
    now: Date.now,
    repeat,
    findToolProcess,
    assertNotBelowRun: async () => (await belowRun()).assertNotBelowRun(env),
    async assertRunnable(settings, { database }) {
      const { assertDatabaseReachable, assertRunnable } = await import('../config/start-check.ts');
      await assertRunnable(settings, env);
      if (database) assertDatabaseReachable(settings.db);
    },
    settings: async (flags) => (await import('../config/load.ts')).loadSettings(flags, context),
    open,
    serverUrl: env.RETINUE_SERVER || null,
    connect: async (server, warn) => (await import('./connect.ts')).connectToServer(server, { ...context, warn }),
    dialect: async (name, settings) => (await import('../config/dialect.ts')).loadDialect(name, settings, env),
    serveMcp: async (service) => (await import('./mcp.ts')).serveMcp(service, { version, repeat, err }),
    serveAcp: async (service) => (await import('./acp.ts')).serveAcp(service, { version, err }),
    acpInstall: {
      plan: async (request) =>
        (await import('../config/acp-install/plan.ts')).planAcpInstall(request, { root, node: process.execPath, ...context }),
      test: async ({ command, args }) => (await import('../acp/try-agent.ts')).tryAgent({ command, args, cwd: context.cwd }),
    },
    async serve(request, api, settings) {
      const { startServer } = await import('./serve.ts');
      const { sanitizeText } = await import('../text/terminal.ts');
      const log = (line: string) => err(`retinue: ${sanitizeText(line)}\n`);
      const setup = (each: Settings) => ({
        model: each.model?.value ?? null,
        models: async () => (await models()).listModels(each, env),
        policy: async (question: PolicyQuestion) => (await explainer()).explainConfiguredCall(each, question, env),
        memories: async () => (await import('./open-api.ts')).listMemories(each),
      });
      const { createMcpMount } = await import('./mcp-http.ts');
      const openMounts = async () => [
        await createMcpMount(request.mcp, { version, repeat: repeatQuietly, now: Date.now, open, api, settings, env, log }),
      ];
      const onTokens = (values: string[]) => void serverTokens.push(...values);
      const deps = { api, settings, root, version, findToolProcess, log, setup, onTokens, openMounts };
      return startServer(request, { ...deps, cwd: context.cwd });
    },
    async work(request, settings) {
      const { sanitizeText } = await import('../text/terminal.ts');
      return (await import('./worker.ts')).work(request, { settings, env, hooks, write: (line) => err(`${sanitizeText(line)}\n`) });
    },
    mcpInstall: {
      plan: async (request) => (await installer()).planInstall(request, { root, node: process.execPath, ...context }),
      apply: async (installation) => (await installer()).applyInstall(installation),
      variables: async (settings) => (await import('../config/mcp-install/variables.ts')).findServerVariables(settings, env),
      async test({ server: { command, args, variables } }) {
        const passed = Object.fromEntries(variables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
        return (await import('../mcp/try-server.ts')).tryServer({ command, args, cwd: context.cwd, env: passed }, version);
      },
    },
    demo: async (name, options) => (await demos()).createDemo(name, { root, isSlow: options?.slow ?? false, ...context }),
    rightsDemo: async (name) => (await (await demos()).loadDemoModule(root, 'rights')).createRightsDemo(name),
    mergeDemo: async () => (await (await demos()).loadDemoModule(root, 'merge')).createMergeDemo(),
    crashDemo: async (report) => (await (await demos()).loadDemoModule(root, 'crash')).runCrashDemo({ root, env }, report),
    longDemo: async (report) => (await (await demos()).loadDemoModule(root, 'long')).runLongDemo(report),
    clusterDemo: async (report) => (await (await demos()).loadDemoModule(root, 'cluster')).runClusterDemo({ root, env }, report),
    explain: async (settings, name) => (await explainer()).explainConfiguredAgent(settings, name, env),
    externalPrograms: async (settings) => (await explainer()).listConfiguredPrograms(settings, env),
    policy: async (settings, question) => (await explainer()).explainConfiguredCall(settings, question, env),
    memories: async (settings, options) => (await import('./open-api.ts')).openMemories(settings, options),
    models: {
      list: async (settings) => (await models()).listModels(settings, env),
      advice: async () => (await import('../models/advice.ts')).describeModelOptions({ env, probe: globalThis.fetch }),
      keyed: async () => (await import('../models/advice.ts')).listKeyedModels(env),
      contextWindow: async (settings, name) => (await models()).findContextWindow(settings, name, env),
      check: async (settings, name) => (await models()).checkModel(settings, name, env),
      save: async (name) => (await models()).saveModel(name, env),
    },
    trust: {
      list: async () => (await trust()).listTrust(env),
      add: async (items) => (await trust()).addTrust(env, items, new Date().toISOString()),
      revoke: async (workspace) => (await trust()).revokeTrust(env, workspace),
    },
    flows: {
      list: async ({ workspace }) => (await flowFiles()).listFlowFiles(workspace, env),
      find: async ({ workspace }, given) => (await flowFiles()).findFlowFile(given, { workspace, cwd: context.cwd }),
      start: async (api, settings, { file, input, options }) =>
        api.flow(await (await import('./flows.ts')).openFlows(settings.workspace, env, api).open(file), input, options),
    },
    evals: {
      async prepare({ file, text, choice, settings }) {
        const { createEvalInput, parseEvalFile } = await import('../evals/definition.ts');
        const { sanitizeText } = await import('../text/terminal.ts');
        const { userStateFolder } = await import('../config/user-folders.ts');
        const path = resolve(context.cwd, file);
        const shown = relative(settings.workspace, path);
        return createEvalInput({ path, shown, definition: parseEvalFile(file, text) }, choice, {
          workspace: settings.workspace,
          stateFolder: userStateFolder(env),
          limits: { ...settings.limits.config, ...settings.limits.command },
          onNotice: (line) => err(`retinue: ${sanitizeText(line)}\n`),
        });
      },
      planReplay: async (input, last, read) => (await import('../evals/replay.ts')).planReplay(input, last, read),
      checkNames: async (api, input, settings) => (await import('./eval-names.ts')).checkEvalNames(api, input, settings, env),
      commandRules: async (settings) => (await import('../config/rulesets.ts')).commandLineRules(settings, env),
      start: async (api, input, options) => (await import('./flows.ts')).startEval(api, input, options),
    },
    questionList: {
      shownAt: async (source) => (await questionList()).questionsShownAt(env, source),
      async save(source, at) {
        if (!(await belowRun()).isBelowRun(env)) (await questionList()).saveQuestionsShown(env, source, at);
      },
    },
    testNotification: async (settings) => (await import('./notify.ts')).sendTestNotification(settings),
    workspaces: {
      list: async () => (await import('../config/workspace-registry.ts')).listDatabases(env),
      read: async (database, work) => (await import('./workspaces.ts')).useReader(env, database, work),
    },
    doctor: async (flags) => (await import('../doctor/run.ts')).runDoctor(flags, context),
    interactive: isInteractive(),
    ask: createAsk(),
    screen: async (api, request) =>
      (await import('../tui/open-screen.tsx')).openScreen({
        ...{ api, ...request, colour: usesColour(stdout.isTTY) },
        streams: { stdin: process.stdin, stdout },
      }),
    detach: async (request, { workspace }) =>
      (await import('./detach.ts')).detach(request, { program: programFile(root), workspace, onInterrupt }),
  };
}

/** A non-empty NO_COLOR or FORCE_COLOR decides; `FORCE_COLOR=0` switches colour off. */
function usesColour(isTTY: boolean | undefined): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return !NO_COLOR && TERM !== 'dumb' && isTTY === true;
}

/**
 * Turns signals and a closed standard output into requests to stop. Without a handler, a signal ends the process as usual, and a closed
 * output ends it silently (`retinue logs last | head`).
 */
function createInterruptSource(): Io['onInterrupt'] {
  const handlers = new Set<(why: Stop) => void>();
  let isOutputClosed = false;
  const notify = (why: Stop) => {
    for (const handler of [...handlers]) handler(why);
  };
  let isTerminating = false;
  const terminate = () => {
    isTerminating = true;
    notify('terminate');
  };
  const signals: [NodeJS.Signals, () => void][] = [
    ['SIGINT', () => notify('interrupt')],
    ['SIGTERM', terminate],
    // A closed terminal is reported by the system and by the shell. The second report must not count as an impatient user.
    ['SIGHUP', () => void (isTerminating || terminate())],
  ];
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isOutputClosed) return;
    isOutputClosed = true;
    // A closed terminal, not a reader that has seen enough.
    if (error.code === 'EIO' && handlers.size > 0) return void (isTerminating || terminate());
    if (error.code !== 'EPIPE') process.stderr.write(`retinue: standard output cannot be written: ${error.code}\n`);
    if (handlers.size === 0) process.exit(error.code === 'EPIPE' ? 0 : 1);
    notify('closed');
  });
  return (handler) => {
    if (handlers.size === 0) for (const [signal, listener] of signals) process.on(signal, listener);
    handlers.add(handler);
    return () => {
      handlers.delete(handler);
      if (handlers.size === 0) for (const [signal, listener] of signals) process.off(signal, listener);
    };
  };
}

/** Questions are shown on standard error: standard output may be piped into another program. */
function isInteractive(): boolean {
  // Not `process.stdin.isTTY`: that would open a stream, which most commands do not need.
  return isatty(0) && process.stderr.isTTY === true;
}

function createAsk(): Io['ask'] {
  let loading: Promise<Prompt> | null = null;
  return async (question, options) => {
    if (!isInteractive()) return null;
    loading ??= import('../tui/prompt.ts').then(({ createPrompt }) => createPrompt({ input: process.stdin, output: process.stderr }));
    const result = await (await loading)(question, options?.signal);
    if (result === 'interrupted') process.kill(process.pid, 'SIGINT');
    // The input can report it before the signal of the system arrives, or instead of it.
    if (result === 'closed') process.kill(process.pid, 'SIGHUP');
    return typeof result === 'string' ? null : result.line;
  };
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxStdinBytes) continue;
    const { RetinueError } = await import('../contract/error.ts');
    throw new RetinueError(
      'usage',
      `standard input is larger than ${maxStdinBytes} bytes; write it to a file and pass the file with --file`,
    );
  }
  return Buffer.concat(chunks).toString('utf8').toWellFormed();
}
