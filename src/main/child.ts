// The tool process of one run: executes its portable tools for the supervisor process.
import { serveToolCalls } from '../hosts/process/serve.ts';

export async function serveRun(): Promise<void> {
  await serveToolCalls(async () => (await import('../tools/index.ts')).portableTools);
}
