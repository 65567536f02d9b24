import type { Memories, Memory, ScratchpadEntry, Scratchpads } from '../ports/notes.ts';

export interface Notes {
  memories: Memories;
  scratchpads: Scratchpads;
}

/** Keeps notes in this process, for as long as it lives. Never fails. */
export function createMemoryNotes(): Notes {
  /** By title, oldest first. */
  const workspaces = new Map<string, Map<string, Memory>>();
  const pads = new Map<string, ScratchpadEntry[]>();

  function at<T>(map: Map<string, T>, key: string, make: () => T): T {
    const known = map.get(key) ?? make();
    map.set(key, known);
    return known;
  }

  return {
    memories: {
      async put(workspace, memory) {
        const known = at(workspaces, workspace, () => new Map());
        known.delete(memory.title);
        known.set(memory.title, { ...memory });
      },
      async list(workspace, words) {
        const newest = [...(workspaces.get(workspace)?.values() ?? [])].reverse();
        return newest.filter(hasWords(words)).map((memory) => ({ ...memory }));
      },
      async remove(workspace, title) {
        return workspaces.get(workspace)?.delete(title) ?? false;
      },
    },
    scratchpads: {
      async append(rootId, entry) {
        at(pads, rootId, () => []).push({ ...entry });
      },
      async read(rootId) {
        return (pads.get(rootId) ?? []).map((entry) => ({ ...entry }));
      },
      async remove(rootId) {
        pads.delete(rootId);
      },
    },
  };
}

/** Whether every word occurs in title or text, whatever its case; without words all do. */
export function hasWords(words: string | undefined): (memory: Memory) => boolean {
  const wanted = fold(words ?? '')
    .split(/\s+/)
    .filter((word) => word !== '');
  return ({ title, text }) => {
    const whole = fold(`${title}\n${text}`);
    return wanted.every((word) => whole.includes(word));
  };
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
