// The plan of a session: the list of the `todo` tool if the run keeps one, otherwise the runs that it delegated.
import { z } from 'zod';
import type { Json } from '../contract/json.ts';
import { sanitizeLine } from '../text/terminal.ts';
import type { PlanEntry } from './protocol.ts';

const statuses = { pending: 'pending', in_progress: 'in_progress', done: 'completed' } as const;
const TodoInput = z.object({ items: z.array(z.object({ text: z.string(), status: z.enum(['pending', 'in_progress', 'done']) })) });

export interface Plan {
  /** Null if the call sets no list. */
  takeTodo(args: Json): PlanEntry[] | null;
  /** Null if a list is kept: it is the plan. */
  setChild(id: string, child: { name: string; isEnded: boolean }): PlanEntry[] | null;
}

export function createPlan(): Plan {
  const children = new Map<string, PlanEntry>();
  let hasTodo = false;
  return {
    takeTodo(args) {
      const input = TodoInput.safeParse(args);
      if (!input.success) return null;
      hasTodo = true;
      return input.data.items.map(({ text, status }) => ({
        content: sanitizeLine(text),
        priority: 'medium',
        status: statuses[status],
      }));
    },
    setChild(id, { name, isEnded }) {
      children.set(id, { content: name, priority: 'medium', status: isEnded ? 'completed' : 'in_progress' });
      return hasTodo ? null : [...children.values()];
    },
  };
}
