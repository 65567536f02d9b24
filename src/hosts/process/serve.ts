// The other side of process.ts: the process that executes a run's tools. When the pipe closes, the supervisor is gone, and the process ends with
// everything it started.
import { Socket } from 'node:net';
import type { AnyTool, ToolContext, ToolResult } from '../../ports/tool.ts';
import { readLines, writeLine } from './lines.ts';
import { channelFd, type FromProcess, maxPieceLength, type ToProcess } from './protocol.ts';

/** Serves calls until told to stop. `loadTools` is called with the first call, so that the process starts fast. */
export async function serveToolCalls(loadTools: () => Promise<readonly AnyTool[]>): Promise<void> {
  const channel = new Socket({ fd: channelFd, readable: true, writable: true });
  const stopped = Promise.withResolvers<void>();
  const calls = new Map<number, { stop: AbortController; onVerdict: (denial: string | null) => void }>();
  let run: Pick<ToolContext, 'runId' | 'workspace' | 'readable'> = { runId: '', workspace: '' };
  let tools: Promise<ReadonlyMap<string, AnyTool>> | null = null;
  const memo = new Map<string, string>();
  /** Memo entries as the supervisor knows them. */
  const reported = new Map<string, string>();

  const send = (message: FromProcess) => writeLine(channel, message);

  /** Exit handlers end processes that tools may have started. */
  function leave(): void {
    process.exit(1);
  }

  function receive(message: ToProcess): void {
    switch (message.type) {
      case 'ping':
        send({ type: 'pong' });
        return;
      case 'start':
        run = { runId: message.runId, workspace: message.workspace, readable: message.readable };
        for (const [key, value] of message.memo) {
          memo.set(key, value);
          reported.set(key, value);
        }
        return;
      case 'call':
        void execute(message);
        return;
      case 'verdict':
        calls.get(message.id)?.onVerdict(message.denial);
        return;
      case 'cancel':
        calls.get(message.id)?.stop.abort(new Error('cancelled'));
        return;
      case 'stop':
        for (const { stop } of calls.values()) stop.abort(new Error('stopped'));
        stopped.resolve();
    }
  }

  async function execute({ id, tool: name, arguments: args, closedPaths }: Extract<ToProcess, { type: 'call' }>): Promise<void> {
    const stop = new AbortController();
    const call = { stop, onVerdict: (_: string | null) => {} };
    calls.set(id, call);
    try {
      tools ??= loadTools().then((list) => new Map(list.map((tool) => [tool.name, tool])));
      const tool = (await tools).get(name);
      if (!tool) throw new Error(`there is no tool ${name} in this process`);
      const context: ToolContext = {
        ...run,
        rootId: run.runId,
        signal: stop.signal,
        memo,
        // Rules are known to the supervisor alone; tools here ask it through `confirmTarget`.
        rights: {
          agent: '',
          definition: null,
          tools: [],
          decide: () => ({ action: 'deny', owner: 'the supervisor', rule: null }),
          closedPaths,
        },
        delegation: null as unknown as ToolContext['delegation'],
        confirmTarget: (subjects) =>
          new Promise((resolve, reject) => {
            call.onVerdict = (denial) => (denial === null ? resolve() : reject(new Error(denial)));
            send({ type: 'target', id, subjects });
          }),
      };
      sendResult(id, await tool.execute(tool.input.parse(args), context));
    } catch (error) {
      send({ type: 'error', id, message: error instanceof Error ? error.message : String(error) });
    } finally {
      calls.delete(id);
    }
  }

  function sendResult(id: number, result: ToolResult): void {
    const { output } = result;
    const isLong = output.length > maxPieceLength;
    if (isLong)
      for (let start = 0; start < output.length; start += maxPieceLength)
        send({ type: 'output', id, text: output.slice(start, start + maxPieceLength) });
    const changed = [...memo].filter(([key, value]) => reported.get(key) !== value);
    for (const [key, value] of changed) reported.set(key, value);
    send({ type: 'result', id, result: { ...result, output: isLong ? '' : output }, memo: changed });
  }

  readLines(channel, (line) => receive(JSON.parse(line) as ToProcess), leave);
  channel.on('close', leave);
  await stopped.promise;
  process.exit(0);
}
