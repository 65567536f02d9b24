import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createLaunchCommand } from '../../src/tools/mcp/launch.ts';
import { resolveTarget } from '../../src/tools/mcp/resolve-target.ts';
import { makeWorkspace } from './support.ts';

it('a server is never started from a directory of the workspace that is on the path', () => {
  const { workspace } = makeWorkspace();
  const bin = join(workspace, 'node_modules/.bin');
  mkdirSync(bin, { recursive: true });
  for (const name of ['sh', 'only-here']) writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
  const env = { PATH: `${bin}:./node_modules/.bin:/usr/bin:/bin`, HOME: '/' };
  const launch = (command: string) => {
    const target = resolveTarget({ command }, { env, workspace });
    if (target.kind !== 'command') throw new Error('not a command');
    return { target, command: createLaunchCommand(target) };
  };
  const { target, command } = launch('sh');
  expect(command.flat().join(' ')).not.toContain(workspace);
  expect(target.env.PATH).not.toContain(workspace);
  expect(() => launch('only-here')).toThrow('was not found');
});
