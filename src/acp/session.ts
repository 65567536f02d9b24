// One session of a client: a conversation in a folder, of one prompt after the other. `conversation.ts` has its runs, `turn.ts` a prompt that is open.
import type { Api, Question, RunHandle } from '../api/api.ts';
import { forwardQuestions } from '../api/forward-questions.ts';
import { isRetinueError } from '../contract/error.ts';
import type { McpServer } from '../contract/mcp-server.ts';
import type { Connection } from '../system/rpc-connection.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import { type Choices, describeChoices, parseMode, parseModel } from './config-options.ts';
import { addCosts, createConversation, type RunChoice } from './conversation.ts';
import { createTitle, loadTreeFacts, type SessionHistory } from './history.ts';
import { defaultMode, describeModes, type Mode } from './modes.ts';
import { askClient } from './permission.ts';
import { type PromptContent, parsePrompt, promptToMessage } from './prompt-content.ts';
import type { PromptBlock, PromptResult, SessionChoices, SessionUpdate } from './protocol.ts';
import { createTreeUpdates, type TreeUpdatesDeps } from './tree-updates.ts';
import { createTurn, type Turn } from './turn.ts';
import type { RunDefaults, SessionWorkspace } from './workspace.ts';

export interface SessionOptions {
  id: string;
  workspace: SessionWorkspace;
  /** Of the client. */
  servers: Record<string, McpServer>;
  defaults: RunDefaults;
  connection: Connection;
  /** Whether the client shows notices. */
  hasNotices: boolean;
  after(ms: number, run: () => void): () => void;
  log(line: string): void;
}

export interface Session {
  id: string;
  isBusy(): boolean;
  choices(): SessionChoices;
  /** A mode also narrows the current run. */
  setMode(id: string): Promise<void>;
  /** Of the next runs. */
  setModel(name: string): void;
  prompt(blocks: PromptBlock[]): Promise<PromptResult>;
  cancel(): void;
  /** Sends what a stored session showed, and continues it from now on. */
  restore(history: SessionHistory, api: Api, options: { replays: boolean }): Promise<void>;
  /** `gone`: the client has disconnected, so that an open run is left for another process; its id is returned. Otherwise it is cancelled. */
  close(options: { gone: boolean }): Promise<string | null>;
}

export function createSession(options: SessionOptions): Session {
  const { id, workspace, connection, log } = options;
  const conversation = createConversation({ sessionId: id, workspace, defaults: options.defaults, assertOpen });
  let chosen: Choices = { mode: defaultMode, model: null };
  let turn: Turn | null = null;
  /** Fires at the next cancel, for prompts that wait for the end of a turn. */
  let waiting = new AbortController();
  let opening: Promise<Api> | null = null;
  let isClosed = false;
  let notices = 0;
  /** Resolves when the last usage was sent. */
  let lastUsage: Promise<void> = Promise.resolve();

  function assertOpen(): void {
    if (isClosed) throw new RpcError(rpcCodes.invalidRequest, 'the session is closed');
  }

  const send = (update: SessionUpdate) => connection.notify('session/update', { sessionId: id, update });

  function sendNotice(severity: 'info' | 'warning' | 'error', title: string): void {
    if (options.hasNotices) send({ sessionUpdate: 'notice', severity, title });
    else
      send({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: `${title}\n` }, messageId: `${id}.notice.${++notices}` });
  }

  const sendUsage: TreeUpdatesDeps['usage'] = ({ model, used, costUsd }) => {
    const cost = addCosts(conversation.costUsd(), costUsd);
    lastUsage = workspace.contextWindow(model).then(
      (size) => {
        if (size === null || isClosed) return;
        send({ sessionUpdate: 'usage_update', used, size, ...(cost === null ? {} : { cost: { amount: cost, currency: 'USD' } }) });
      },
      () => {},
    );
  };

  const updatesDeps = { workspace: workspace.path, send, notice: sendNotice, usage: sendUsage, isCongested: connection.isCongested };

  function openApi(): Promise<Api> {
    opening ??= workspace.open(options.servers).then(
      (api) => {
        forwardQuestions(api, answerQuestion);
        return api;
      },
      (error: unknown) => {
        opening = null;
        throw error;
      },
    );
    return opening;
  }

  /** A question of a turn that is cancelled is withdrawn, and stays without an answer. */
  async function answerQuestion(question: Question, given: AbortSignal) {
    const current = turn;
    if (current === null || current.cancelled.aborted) return null;
    current.reveal(question.runId, question);
    const signal = AbortSignal.any([given, current.cancelled]);
    return askClient(question, { connection, sessionId: id, workspace: workspace.path, signal });
  }

  function runChoice(): RunChoice {
    const { mode, model } = chosen;
    return { rules: mode.rules, agent: mode.agent, model: model ?? undefined };
  }

  async function startRun(api: Api, content: PromptContent): Promise<RunHandle> {
    const { handle, isFirst } = await conversation.start(api, content, runChoice());
    if (isFirst) send({ sessionUpdate: 'session_info_update', title: createTitle(content.task) });
    return handle;
  }

  async function resumeRun(api: Api, rootId: string, content: PromptContent): Promise<RunHandle> {
    const handle = await conversation.resume(api, rootId, content, runChoice());
    if (handle === null) return startRun(api, content);
    const open = (await api.questions()).filter((question) => question.rootId === rootId);
    for (const question of open) void askAgain(api, question).catch((error: Error) => log(`cannot ask: ${error.message}`));
    return handle;
  }

  /** For a question that was asked before the run was interrupted. */
  async function askAgain(api: Api, question: Question): Promise<void> {
    const answer = await answerQuestion(question, connection.signal);
    if (answer !== null) await api.answer(question.id, answer);
  }

  function beginTurn(content: PromptContent): Turn {
    const rootId = conversation.interrupted();
    const begun = createTurn({
      ...updatesDeps,
      open: openApi,
      earlier: async (api) => (rootId === null ? [] : loadTreeFacts(api, rootId)),
      start: (api) => (rootId === null ? startRun(api, content) : resumeRun(api, rootId, content)),
      after: options.after,
      log,
    });
    void begun.settled.then((end) => {
      if (turn === begun) turn = null;
      conversation.end(end);
    });
    return begun;
  }

  function choices(): SessionChoices {
    return { modes: describeModes(chosen.mode), configOptions: describeChoices(chosen, workspace.models) };
  }

  async function narrowTurn({ name, rules }: Mode): Promise<void> {
    if (turn !== null && rules.length > 0) await turn.send(`The session is now in the mode “${name}”.`, rules);
  }

  return {
    id,
    isBusy: () => turn !== null,
    choices,
    async setMode(modeId) {
      const mode = parseMode(modeId);
      chosen = { ...chosen, mode };
      // A client may show modes, configuration options, or both.
      send({ sessionUpdate: 'current_mode_update', currentModeId: mode.id });
      send({ sessionUpdate: 'config_option_update', configOptions: choices().configOptions });
      await narrowTurn(mode);
    },
    setModel(name) {
      chosen = { ...chosen, model: parseModel(name, chosen, workspace.models) };
    },
    async prompt(blocks) {
      const content = parsePrompt(blocks, workspace.path);
      if (conversation.interrupted() !== null && content.images.length > 0)
        throw new RpcError(rpcCodes.invalidParams, 'the last prompt was interrupted; continue it first with a message without images');
      while (turn !== null) {
        const current: Turn = turn;
        const { signal } = waiting;
        // A message is text, so a prompt with images waits for the end of the run.
        const canSteer = content.images.length === 0 && !current.cancelled.aborted;
        if (canSteer && (await current.send(promptToMessage(content)))) return current.result;
        await waitFor(current.settled, signal);
        if (signal.aborted) return { stopReason: 'cancelled' };
      }
      assertOpen();
      turn = beginTurn(content);
      const result = await turn.result;
      if (result.stopReason !== 'cancelled') await lastUsage;
      return result;
    },
    cancel() {
      turn?.cancel();
      waiting.abort();
      waiting = new AbortController();
    },
    async restore({ runs, mode, model }, api, { replays }) {
      chosen = { mode, model: model === workspace.models.configured ? null : model };
      conversation.restore(runs);
      for (const { runId } of replays ? runs : []) {
        const updates = createTreeUpdates({ ...updatesDeps, isReplay: true, usage: () => {} });
        for (const fact of await loadTreeFacts(api, runId)) {
          updates.take(fact);
          await connection.waitUntilWritten();
        }
      }
      if (conversation.interrupted() !== null) sendNotice('info', 'The last prompt was interrupted. Your next message continues it.');
    },
    async close({ gone }) {
      isClosed = true;
      const api = await opening?.catch(() => null);
      const current = turn;
      if (!gone) current?.cancel();
      else await api?.drain('the editor has disconnected');
      // A run that is just being started fails then, for example while an MCP server starts.
      await api?.close();
      const end = await current?.settled;
      return end && 'error' in end && isRetinueError(end.error) && end.error.code === 'paused' ? end.runId : null;
    },
  };
}

/** Resolves with the promise or when the signal fires. */
async function waitFor(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  const onAbort = () => aborted.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([promise, aborted.promise]);
  signal.removeEventListener('abort', onAbort);
}
