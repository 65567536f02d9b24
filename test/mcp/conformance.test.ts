// The official conformance suite against the real `retinue serve`. Scenarios that do not apply are listed with their reason; every other one passes.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { DelegationRequest, DialectTool } from '../../src/ports/dialect.ts';
import { createPlace } from '../cli/support-process.ts';
import { createTemporaryFolder } from './support.ts';
import { createHttpWorld, owner } from './support-http.ts';
import { startServe } from './support-serve.ts';
import { startTokenProxy } from './support-token-proxy.ts';

const program = resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** These call a tool that only a server built for the suite has. Calls, errors, progress and questions are tested with our tools in the other files. */
const fixture = 'needs a tool of the suite’s own example server';
const noResources = 'Retinue offers no resources';
const noPrompts = 'Retinue offers no prompts';

const notApplicable: Record<string, string> = {
  'completion-complete': 'there are no prompts and resources whose arguments could be completed',
  'elicitation-sep1034-defaults': fixture,
  'elicitation-sep1330-enums': fixture,
  'json-schema-2020-12': fixture,
  'logging-set-level': 'Retinue sends no log messages to clients',
  'prompts-get-embedded-resource': noPrompts,
  'prompts-get-simple': noPrompts,
  'prompts-get-with-args': noPrompts,
  'prompts-get-with-image': noPrompts,
  'prompts-list': noPrompts,
  'resources-list': noResources,
  'resources-read-binary': noResources,
  'resources-read-text': noResources,
  'resources-subscribe': noResources,
  'resources-templates-read': noResources,
  'resources-unsubscribe': noResources,
  'server-sse-polling': fixture,
  'tools-call-audio': 'delegated runs report text only',
  'tools-call-elicitation': fixture,
  'tools-call-embedded-resource': noResources,
  'tools-call-error': fixture,
  'tools-call-image': 'delegated runs report text only',
  'tools-call-mixed-content': 'delegated runs report text only',
  'tools-call-sampling': 'Retinue uses its own models, never the client’s',
  'tools-call-simple-text': fixture,
  'tools-call-with-logging': 'Retinue sends no log messages to clients',
  'tools-call-with-progress': fixture,
};

it('every scenario that applies passes', async () => {
  using place = createPlace({ runs: [] });
  using results = createTemporaryFolder();
  const server = await startServe(place);
  await using proxy = await startTokenProxy(server.url, server.token as string);
  await run(['server', '--url', `${proxy.url}/mcp`, '--suite', 'all', '--output-dir', results.folder]);
  const scenarios = readdirSync(results.folder).map((name) => ({
    name: readScenario(name),
    passed: hasPassed(join(results.folder, name)),
  }));
  expect(scenarios.filter(({ passed }) => passed).map(({ name }) => name)).toEqual([
    'dns-rebinding-protection',
    'ping',
    'server-initialize',
    'server-sse-multiple-streams',
    'tools-list',
  ]);
  expect(scenarios.filter(({ passed }) => !passed).map(({ name }) => name)).toEqual(Object.keys(notApplicable).sort());
  await server.stop();
}, 60_000);

it('results and errors of a tool have the form that the suite expects', async () => {
  const tool = (name: string, request: DelegationRequest): DialectTool<object> => ({
    name,
    description: () => name,
    input: z.strictObject({}),
    readOnly: true,
    toRequest: () => request,
    fromReply: (reply) => ({ parts: [{ text: simpleText }], isError: reply.kind === 'refused' }),
  });
  const tools = [
    tool('test_simple_text', { kind: 'wait', ids: null, mode: 'all', waitMs: 0 }),
    tool('test_error_handling', { kind: 'refuse', message: 'no' }),
  ];
  await using world = await createHttpWorld({ dialect: { name: 'fixture', description: '', tools } });
  await using server = await listen((request) => world.handler.handle(request, owner));
  for (const scenario of ['tools-call-simple-text', 'tools-call-error']) {
    using results = createTemporaryFolder();
    await run(['server', '--url', `${server.url}/mcp`, '--scenario', scenario, '--output-dir', results.folder]);
    expect(
      readdirSync(results.folder).map((name) => hasPassed(join(results.folder, name))),
      scenario,
    ).toEqual([true]);
  }
}, 60_000);

const simpleText = 'This is a simple text response for testing.';

async function listen(handle: (request: Request) => Promise<Response>): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const server = createServer(getRequestListener(handle, { overrideGlobalObjects: false }));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** It exits with 1, because scenarios that do not apply count as failed. */
function run(args: string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore' });
    child.on('error', fail);
    child.on('close', () => done());
  });
}

/** Folders are named `server-SCENARIO-TIME`. */
function readScenario(folder: string): string {
  return folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
}

/** A scenario that only made requests and checked nothing has not passed. */
function hasPassed(folder: string): boolean {
  const checks = JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8')) as { status: string }[];
  return checks.some(({ status }) => status === 'SUCCESS') && !checks.some(({ status }) => status === 'FAILURE');
}
