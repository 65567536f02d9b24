// Notices that another process has written: polls SQLite's `data_version`, which changes with every commit of another connection. It polls only
// while someone is watching. Facts and orders are not told apart: one look at the file finds both.
import type { DatabaseSync } from 'node:sqlite';

export interface ChangeWatcher {
  /** The returned function stops the calls. */
  add(onChange: () => void): () => void;
  /** Calls all watchers soon, without waiting for the next poll. */
  notify(): void;
  close(): void;
}

export function createChangeWatcher(db: DatabaseSync, pollMs: number): ChangeWatcher {
  const selectVersion = db.prepare('PRAGMA data_version');
  /** Undefined while the database is locked. That differs from every version, so a change is reported at a later poll. */
  const readVersion = (): unknown => {
    try {
      return selectVersion.get()?.data_version;
    } catch {
      return undefined;
    }
  };
  return createPoller(readVersion, pollMs);
}

/** Calls watchers when the version differs from the last one. */
export function createPoller(readVersion: () => unknown, pollMs: number): ChangeWatcher {
  const watchers = new Set<() => void>();
  let lastVersion: unknown;
  let timer: NodeJS.Timeout | null = null;
  let notifying: NodeJS.Immediate | null = null;

  function poll(): void {
    const version = readVersion();
    if (version === lastVersion) return;
    lastVersion = version;
    callWatchers();
  }

  function callWatchers(): void {
    notifying = null;
    for (const onChange of [...watchers]) onChange();
  }

  function stopPolling(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  return {
    add(onChange) {
      const watcher = () => onChange();
      watchers.add(watcher);
      if (timer === null) {
        lastVersion = readVersion();
        timer = setInterval(poll, pollMs).unref();
      }
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) stopPolling();
      };
    },
    notify() {
      notifying ??= setImmediate(callWatchers);
    },
    close() {
      watchers.clear();
      stopPolling();
      if (notifying !== null) clearImmediate(notifying);
    },
  };
}
