// The API on one client's workspace. It is opened for driving runs at the first tool call, not before: clients list tools wherever they are
// started, and listing must not create a database.
import type { Api } from '../api/api.ts';
import { type Answerer, forwardQuestions } from '../api/forward-questions.ts';

export interface WorkspaceApiOptions {
  /** The client's workspace; null if it names none. */
  workspace(): Promise<string | null>;
  /** `drive`: to delegate there. Without it the API only reads and leaves nothing behind. `asks`: approval questions can be answered. */
  open(workspace: string | null, options: { drive: boolean; asks: boolean }): Promise<Api>;
  /** Answers approval questions; null if the client cannot be asked. */
  answerer(): Answerer | null;
}

export interface WorkspaceApi {
  /** The API for driving runs. A failed opening is tried again at the next call. */
  open(): Promise<Api>;
  /** The API for driving runs if it is open; null otherwise. Never rejects. */
  current(): Promise<Api | null>;
  /** Uses the open API, or one for reading that is closed afterwards. */
  read<T>(use: (api: Api) => T | Promise<T>): Promise<T>;
  /** Closes the API. The next use asks the client for its workspace again. */
  reset(): void;
}

export function createWorkspaceApi(options: WorkspaceApiOptions): WorkspaceApi {
  let workspace: Promise<string | null> | null = null;
  let opening: Promise<Api> | null = null;

  function getWorkspace(): Promise<string | null> {
    workspace ??= options.workspace();
    return workspace;
  }

  async function openForDriving(): Promise<Api> {
    const path = await getWorkspace();
    const answerer = options.answerer();
    const api = await options.open(path, { drive: true, asks: answerer !== null });
    if (answerer) forwardQuestions(api, answerer);
    return api;
  }

  return {
    open() {
      opening ??= openForDriving().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return opening;
    },
    async current() {
      return (await opening?.catch(() => null)) ?? null;
    },
    async read(use) {
      if (opening) return use(await opening);
      const api = await options.open(await getWorkspace(), { drive: false, asks: false });
      try {
        return await use(api);
      } finally {
        await api.close();
      }
    },
    reset() {
      const old = opening;
      workspace = null;
      opening = null;
      void old?.then((api) => api.close()).catch(() => {});
    },
  };
}
