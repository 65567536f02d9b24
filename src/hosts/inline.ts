import type { Host } from '../ports/host.ts';

/** Runs in the supervisor's own process, so there is nothing to reap. */
export const inlineHost: Host = { name: 'inline', execute: (work) => work.drive() };
