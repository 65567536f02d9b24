// The entry point `retinue/client`: the HTTP API of `retinue serve`, for Node and for browsers. It loads no other part of Retinue.
export type { StreamEvent } from '../api/api.ts';
export { type Client, type ClientOptions, createClient, type ListOptions } from '../client/client.ts';
export { isRemoteError, RemoteError } from '../client/error.ts';
export type { ConnectionState, EventStreamOptions, ReconnectOptions } from '../client/events.ts';
export type { Agent } from '../contract/agent.ts';
export type { Artifact } from '../contract/artifact.ts';
export type { Brief } from '../contract/brief.ts';
export type { Delta } from '../contract/delta.ts';
export type { ErasedFact, StoredFact } from '../contract/fact.ts';
export type { FileChange, Role, ServerInfo, Workspace } from '../contract/http.ts';
export type { Outcome } from '../contract/outcome.ts';
export type { CostRow, LiveRun, Question, RunDetail, RunView, SearchHit, TreeList, TreeSnapshot, TreeView } from '../contract/view.ts';
