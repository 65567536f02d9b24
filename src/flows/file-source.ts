// Programs of flows in files: named by the user, or recorded by a run.
import { RetinueError } from '../contract/error.ts';
import type { FlowProgram, FlowSource } from '../ports/flow.ts';
import { type FlowGraph, readFlowGraph } from './import-graph.ts';
import { loadDefinition } from './load-file.ts';
import { definitionToProgram } from './program.ts';

export interface FileSourceOptions {
  /** The file of a module of this package, such as `retinue`. */
  ownModule(specifier: string): string;
  /** Throws if a file of the graph may not be executed. */
  assertTrusted(graph: FlowGraph): void;
}

export interface FileFlows extends FlowSource {
  open(file: string): Promise<FlowProgram>;
}

export function createFileFlows({ ownModule, assertTrusted }: FileSourceOptions): FileFlows {
  async function loadGraph(graph: FlowGraph): Promise<FlowProgram> {
    assertTrusted(graph);
    // The path with its links, so that a resume decides on trust as the start did.
    const { path: file, version } = graph;
    return definitionToProgram(loadDefinition(graph, ownModule), { file, version });
  }
  return {
    open: async (file) => loadGraph(readFlowGraph(file)),
    async load({ name, file, version }) {
      if (file === null)
        throw new RetinueError(
          'flow_changed',
          `the flow ${name} is part of another program and cannot be continued here; resume it in that program`,
        );
      const advice = 'Restore it, or cancel the run and start the flow again';
      let graph: FlowGraph;
      try {
        graph = readFlowGraph(file);
      } catch (error) {
        throw new RetinueError('flow_changed', `the flow ${name} cannot be continued: ${(error as Error).message}. ${advice}`);
      }
      if (graph.version !== version)
        throw new RetinueError(
          'flow_changed',
          `the flow ${name} cannot be continued: ${file}, or a file that it imports, has changed since it began. ${advice}`,
        );
      return loadGraph(graph);
    },
  };
}
