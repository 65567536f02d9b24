// A scripted model is a file. Which file is the user's choice: a brief of a model or of a client must not name another one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FactOf } from '../../src/contract/fact.ts';
import { createModels } from '../../src/models/models.ts';
import { createScriptModels } from '../../src/models/script.ts';
import { systemClock } from '../../src/system/clock.ts';
import { anyAgent } from '../support/adversary.ts';
import { createWorld, type World } from '../support/world.ts';

const scripted = { ...anyAgent, name: 'scripted', model: 'script/other.json' };
const refusal = 'only the user chooses a script as a model';

/** A runtime that reads scripts from real files, whose root delegates one task on this model. */
async function createScriptedWorld(task: object): Promise<World> {
  const root = [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent: 'any', ...task }] } }] }, { text: 'done' }];
  const work = { when: { task: 'work' }, times: 'any', steps: [{ text: 'from the same script' }] };
  const files = {
    'root.json': JSON.stringify({ runs: [{ when: { task: 'lead' }, times: 'any', steps: root }, work] }),
    'other.json': JSON.stringify({ runs: [{ times: 'any', steps: [{ text: 'from the other script' }] }] }),
    'keys.json': JSON.stringify({ db_password_hunter2: 1 }),
    'broken.json': 'token=hunter2',
  };
  const models = createModels({ providers: { script: createScriptModels({ clock: systemClock }) } });
  return createWorld({ agents: [anyAgent, scripted], files, options: { models }, settings: { model: 'script/root.json' } });
}

async function delegateFromModel(task: object): Promise<string> {
  await using world = await createScriptedWorld(task);
  await (await world.runtime.start({ task: 'lead', agent: 'any' })).outcome;
  return (world.facts.find((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>).data.output;
}

describe('a brief of a model', () => {
  it('cannot name a script, and the refusal is the same whatever the file is', async () => {
    const names = ['other.json', 'keys.json', 'broken.json', 'missing.json', '.', './root.json', '/etc/passwd', '/etc/missing'];
    const outputs = await Promise.all(
      names.map(async (name) => (await delegateFromModel({ model: `script/${name}` })).replace(`"script/${name}"`, 'NAME')),
    );
    expect(outputs[0]).toContain(refusal);
    expect(outputs[0]).not.toContain('from the other script');
    expect(new Set(outputs).size).toBe(1);
  });

  it('may name the script of the root', async () => {
    expect(await delegateFromModel({ model: 'script/root.json' })).toContain('from the same script');
  });

  it('may name an agent whose definition has a script', async () => {
    expect(await delegateFromModel({ agent: 'scripted' })).toContain('from the other script');
  });
});

describe('a client', () => {
  it('cannot name a script with its tools, except the one that the user has set', async () => {
    await using world = await createScriptedWorld({});
    const client = await world.runtime.openClient({ label: 'mcp' });
    const [other, missing, own] = await client.delegation.start(
      ['script/other.json', 'script/missing.json', 'script/root.json'].map((model) => ({ task: 'work', agent: 'any', model })),
    );
    for (const started of [other, missing])
      expect(started).toMatchObject({ ok: false, error: { message: expect.stringContaining(refusal) } });
    expect(own).toMatchObject({ ok: true });
    await client.close();
  });

  it('that is a program chooses its models itself', async () => {
    await using world = await createScriptedWorld({});
    const client = await world.runtime.openClient();
    const handle = await client.delegate({ task: 'work', agent: 'any', model: 'script/other.json' });
    expect((await handle.outcome).summary).toBe('from the other script');
    await client.close();
  });
});

it('the user who names a wrong script learns where it is wrong, without its contents', async () => {
  await using world = await createScriptedWorld({});
  writeFileSync(join(world.workspace, 'step.json'), JSON.stringify({ runs: [{ steps: [{ hunter2: 'x' }] }] }));
  const start = (name: string) => world.runtime.start({ task: 'x', agent: 'any', model: `script/${name}` });
  await expect(start('missing.json')).rejects.toThrow('it does not exist');
  await expect(start('step.json')).rejects.toThrow(/runs\[0\]\.steps\[0\]: has an unknown key; the keys here are expect, text, /);
  for (const name of ['keys.json', 'broken.json', 'step.json']) await expect(start(name)).rejects.not.toThrow('hunter2');
});
