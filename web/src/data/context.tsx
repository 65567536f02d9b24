// What every page needs: a client for the chosen workspace, the event stream, and what the server allows.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react';
import { type Client, createClient } from '../../../src/client/client.ts';
import type { Role, ServerInfo, Workspace } from '../../../src/contract/http.ts';
import { type Connection, createEventHub, type EventHub } from './event-hub.ts';

interface DataContext {
  client: Client;
  hub: EventHub;
}

const Data = createContext<DataContext | null>(null);

/** A hidden page gives its connection back after this time. */
const hiddenMs = 20_000;

/** `workspace`: null for the server's own. Give it a `key`, so that another workspace begins anew. */
export function DataProvider({ workspace, children }: { workspace: string | null; children: ReactNode }): ReactNode {
  const data = useMemo(() => {
    const client = createClient(workspace === null ? {} : { workspace });
    return { client, hub: createEventHub(client) };
  }, [workspace]);
  useEffect(() => {
    const { hub } = data;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const update = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'visible') hub.start();
      else timer = setTimeout(() => hub.stop(), hiddenMs);
    };
    hub.start();
    update();
    document.addEventListener('visibilitychange', update);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', update);
      hub.stop();
    };
  }, [data]);
  return <Data value={data}>{children}</Data>;
}

function useData(): DataContext {
  const data = useContext(Data);
  if (data === null) throw new Error('only below a DataProvider');
  return data;
}

export function useClient(): Client {
  return useData().client;
}

export function useHub(): EventHub {
  return useData().hub;
}

export function useConnection(): Connection {
  const { hub } = useData();
  return useSyncExternalStore(hub.watchConnection, hub.connection);
}

export interface ServerContent {
  server: ServerInfo;
  workspaces: Workspace[];
  reload(): void;
}

/** Null while it loads. */
export const ServerContext = createContext<ServerContent | null>(null);

export function useServer(): ServerContent | null {
  return useContext(ServerContext);
}

const roles: Role[] = ['read', 'steer', 'start'];

/** Why the user may not do what needs this role; null if they may. Pass it to `Button` as `disabledReason`. */
export function useMissingRole(needed: Role): string | null {
  const role = useServer()?.server.role;
  if (role === undefined || roles.indexOf(role) >= roles.indexOf(needed)) return null;
  const may = role === 'read' ? 'read only' : 'read and steer existing runs';
  return `Your link may ${may}. This needs a token with the role “${needed}”.`;
}
