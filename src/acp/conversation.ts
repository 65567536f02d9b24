// The runs of a session, one for each prompt: which one a new prompt continues or resumes, and what they cost.
import type { Api, RunHandle, RunView } from '../api/api.ts';
import type { BriefFile } from '../config/attachments.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import { promptKey } from './history.ts';
import { type PromptContent, promptToMessage } from './prompt-content.ts';
import type { TurnEnd } from './turn.ts';
import type { RunDefaults, SessionWorkspace } from './workspace.ts';

/** What the user has chosen for the next runs. */
export interface RunChoice {
  /** Narrow the run. */
  rules: string[];
  agent: string | undefined;
  model: string | undefined;
}

export interface Conversation {
  /** The run that did not end, which the next prompt resumes. */
  interrupted(): string | null;
  /** What ended runs cost; null while unknown. */
  costUsd(): number | null;
  /** Takes over the stored runs of a session. */
  restore(runs: RunView[]): void;
  /** Starts the run of a prompt. `isFirst`: it is the first one of the session. */
  start(api: Api, content: PromptContent, choice: RunChoice): Promise<{ handle: RunHandle; isFirst: boolean }>;
  /** Continues the tree of an interrupted prompt, which gets the new one as a message. Null if it has ended meanwhile. */
  resume(api: Api, rootId: string, content: PromptContent, choice: RunChoice): Promise<RunHandle | null>;
  end(end: TurnEnd): void;
}

export interface ConversationDeps {
  sessionId: string;
  workspace: SessionWorkspace;
  defaults: RunDefaults;
  /** Throws if the session is closed. Nothing may start after that. */
  assertOpen(): void;
}

export function createConversation({ sessionId, workspace, defaults, assertOpen }: ConversationDeps): Conversation {
  let prompts = 0;
  let last: string | null = null;
  let interrupted: string | null = null;
  let costUsd: number | null = null;

  async function start(api: Api, content: PromptContent, { rules, agent = defaults.agent, model }: RunChoice) {
    const files: BriefFile[] = [];
    let owner: string | null = null;
    try {
      for (const { name, text } of content.files) files.push(await workspace.attach(name, text));
      const brief = {
        task: content.task,
        idempotencyKey: promptKey(sessionId, prompts + 1),
        ...(content.context === null ? {} : { context: content.context }),
        ...(files.length === 0 ? {} : { files: files.map(({ path }) => path) }),
        ...(last === null ? {} : { continues: last }),
        ...(agent === undefined ? {} : { agent }),
        ...(model === undefined ? {} : { model }),
        ...(rules.length === 0 ? {} : { rules }),
        ...(Object.keys(defaults.limits).length === 0 ? {} : { limits: defaults.limits }),
      };
      assertOpen();
      const handle = await api.start(brief, { images: content.images });
      owner = handle.id;
      prompts++;
      return { handle, isFirst: prompts === 1 };
    } catch (error) {
      if (isRetinueError(error) && error.code === 'key_conflict')
        throw new RetinueError('fenced', 'another process has continued this session; load it again', { cause: error });
      throw error;
    } finally {
      await workspace.claim(files, owner);
    }
  }

  return {
    interrupted: () => interrupted,
    costUsd: () => costUsd,
    restore(runs) {
      prompts = runs.length;
      for (const run of runs) {
        // The cost of an interrupted run is known when it ends.
        if (run.endedAt === null) interrupted = run.runId;
        else costUsd = addCosts(costUsd, run.costUsd);
        if (run.endedAt !== null && run.startedAt !== null) last = run.runId;
      }
    },
    start,
    async resume(api, rootId, content, { rules }) {
      assertOpen();
      const [handle] = await api.resume(rootId);
      interrupted = null;
      if (handle && (await sendPrompt(handle, content, rules))) return handle;
      // It has ended meanwhile, here or in another process.
      await handle?.outcome;
      const { startedAt, endedAt } = await api.show(rootId);
      if (startedAt !== null && endedAt !== null) last = rootId;
      return null;
    },
    end(end) {
      if ('outcome' in end) {
        costUsd = addCosts(costUsd, end.outcome.costUsd);
        // A run that was cancelled before it began has no conversation to continue.
        if (end.outcome.startedAt !== null) last = end.runId;
      } else if (end.runId !== null) interrupted = end.runId;
    },
  };
}

/** False if the run accepts no messages any more. */
async function sendPrompt(handle: RunHandle, content: PromptContent, rules: string[]): Promise<boolean> {
  try {
    await handle.send(promptToMessage(content), 'the user', rules);
    return true;
  } catch (error) {
    if (isRetinueError(error) && error.code === 'parent_ended') return false;
    throw error;
  }
}

export function addCosts(a: number | null, b: number | null): number | null {
  return a === null ? b : a + (b ?? 0);
}
