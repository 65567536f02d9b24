// Flows of a program: started from their definitions, and found again by name when a tree is resumed.
import type { Api } from '../api/api.ts';
import { RetinueError } from '../contract/error.ts';
import type { FlowRef } from '../contract/flow.ts';
import type { Json } from '../contract/json.ts';
import { type FlowDefinition, isFlowDefinition } from '../flows/definition.ts';
import { definitionToProgram } from '../flows/program.ts';
import type { FlowProgram, FlowSource } from '../ports/flow.ts';
import { checkFlowOptions } from './options.ts';
import type { Retinue } from './types.ts';

export interface LibraryFlows extends FlowSource {
  flow: Retinue['flow'];
}

export function createLibraryFlows(given: readonly FlowDefinition[], getApi: () => Api): LibraryFlows {
  const known = new Map(given.map((definition) => [definition.name, definition]));
  return {
    async flow(definition, input, options = {}) {
      if (!isFlowDefinition(definition)) throw new RetinueError('usage', '`flow` takes the result of `defineFlow`');
      checkFlowOptions(options);
      const { traceparent, tracestate, ...rest } = options;
      known.set(definition.name, definition as FlowDefinition);
      const program = await definitionToProgram(definition as FlowDefinition);
      const api = getApi();
      const run = await api.flow(program, (input ?? null) as Json, { ...rest, trace: { traceparent, tracestate } });
      return {
        id: run.id,
        outcome: run.outcome as never,
        events: (more) => api.events(run.id, more),
        cancel: (reason) => run.cancel(reason),
      };
    },
    async load(ref: FlowRef): Promise<FlowProgram> {
      const definition = known.get(ref.name);
      if (!definition)
        throw new RetinueError(
          'flow_changed',
          `the flow ${ref.name} cannot be continued: pass its definition in \`flows\` of createRetinue`,
        );
      const program = await definitionToProgram(definition);
      if (program.version === ref.version) return program;
      throw new RetinueError(
        'flow_changed',
        `the flow ${ref.name} cannot be continued: its program has changed since it began. Restore the program, or cancel the run and start the flow again`,
      );
    },
  };
}
