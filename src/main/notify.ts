// Connects the user's notifications to the API of one command.
import type { Api } from '../api/api.ts';
import type { Settings } from '../config/settings.ts';
import { homeFolder } from '../config/user-folders.ts';
import { createTestMessage } from '../notify/message.ts';
import { createNotifier, type Sent } from '../notify/notifier.ts';
import { watchForNotifications } from '../notify/watch.ts';
import type { Store } from '../ports/store.ts';

type Warn = (message: string) => void;

export interface Notifications {
  /** The store, which stays open until the last facts were read for notifications. */
  store: Store;
  watch(api: Api): void;
  close(): Promise<void>;
}

/** Null if the user wants none. */
export function createNotifications(settings: Settings, store: Store, warn: Warn): Notifications | null {
  const notify = settings.notify?.value;
  if (notify === undefined || (notify.command === undefined && notify.webhook === undefined)) return null;
  const notifier = createNotifier({ settings: notify, env: process.env, home: homeFolder(process.env), warn });
  let settle = async () => {};
  return {
    store: {
      ...store,
      async close() {
        await settle();
        await store.close();
      },
    },
    watch(api) {
      const findRow = (runId: string) => store.run(runId);
      settle = watchForNotifications(api, { settings: notify, origin: originOf(settings), findRow, notify: notifier.notify });
    },
    close: () => notifier.close(),
  };
}

/** For `retinue notify test`. Empty if nothing is configured. */
export async function sendTestNotification(settings: Settings): Promise<Sent[]> {
  const notify = settings.notify?.value ?? {};
  const notifier = createNotifier({ settings: notify, env: process.env, home: homeFolder(process.env), warn: () => {} });
  return notifier.send(createTestMessage(originOf(settings), new Date()));
}

function originOf({ workspace, db }: Settings) {
  return { workspace, db: db.shown };
}
