import type { DatabaseSync } from 'node:sqlite';

export interface Watch {
  add(changed: () => void): () => void;
  /** Calls everybody soon. */
  ring(): void;
  close(): void;
}

/**
 * Those who want to know when another process has written. While there are any, one look per interval at SQLite's
 * `data_version`, which changes with every commit of another connection.
 */
export function createWatch(db: DatabaseSync, pollMs: number): Watch {
  const version = db.prepare('PRAGMA data_version');
  const watchers = new Set<() => void>();
  let seen: unknown;
  let timer: NodeJS.Timeout | null = null;
  let ringing: NodeJS.Immediate | null = null;

  /** Undefined while a lock is in the way: unlike any version, so the change is told at the next look. */
  function look(): unknown {
    try {
      return version.get()?.data_version;
    } catch {
      return undefined;
    }
  }

  function poll(): void {
    const found = look();
    if (found === seen) return;
    seen = found;
    callAll();
  }

  function callAll(): void {
    ringing = null;
    for (const changed of [...watchers]) changed();
  }

  function stop(): void {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  return {
    add(changed) {
      const watcher = () => changed();
      watchers.add(watcher);
      if (timer === null) {
        seen = look();
        timer = setInterval(poll, pollMs).unref();
      }
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) stop();
      };
    },
    ring() {
      ringing ??= setImmediate(callAll);
    },
    close() {
      watchers.clear();
      stop();
      if (ringing !== null) clearImmediate(ringing);
    },
  };
}
