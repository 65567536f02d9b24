// Executes tools in the supervisor's own process.
import type { ToolExecutor } from '../ports/tool-executor.ts';

export const inlineExecutor: ToolExecutor = {
  name: 'inline',
  open: () => ({
    call: ({ tool, input, context }) => tool.execute(input, context),
    failed: new Promise(() => {}),
    close: async () => {},
  }),
};
