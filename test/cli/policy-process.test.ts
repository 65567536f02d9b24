// `retinue policy test` tells what would really happen, not only what the rules say.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from './support-process.ts';

function workspace(): Place {
  const place = createPlace({ runs: [] });
  mkdirSync(join(place.folder, 'src'));
  writeFileSync(join(place.folder, '.env'), 'x');
  symlinkSync('/etc', join(place.folder, 'out'));
  symlinkSync('.env', join(place.folder, 'link'));
  symlinkSync('../.git', join(place.folder, 'src/repository'));
  mkdirSync(join(place.folder, '.git'));
  return place;
}

describe('policy test', () => {
  it('reports paths that no rule can allow', async () => {
    using place = workspace();
    for (const [call, reason] of [
      ['write:.git/hooks/pre-commit', 'is protected'],
      ['write:src/repository/config', 'is protected'],
      ['edit:.vscode/settings.json', 'is protected'],
      ['write:.retinue/x', '.retinue is closed to tools'],
      ['read:.retinue/retinue.db', '.retinue is closed to tools'],
      ['read:../x', 'outside the workspace'],
      ['read:/etc/passwd', 'outside the workspace'],
      ['read:out/passwd', 'leads out of the workspace through a link'],
      ['write:out/x', 'leads out of the workspace through a link'],
      ['grep:out', 'leads out of the workspace through a link'],
      ['webfetch:http://127.0.0.1/', 'not a public address'],
      ['webfetch:http://[::1]/', 'not a public address'],
    ] as const) {
      const { code, out } = await place.run('policy', 'test', call, ...(call.startsWith('web') ? ['--agent', 'research'] : []));
      expect([code, out.split(' ', 1)[0]], call).toEqual([1, 'deny']);
      expect(out, call).toContain(reason);
    }
  });

  it('follows links, and allows what a run could do', async () => {
    using place = workspace();
    expect(await place.run('policy', 'test', 'read:link', '--deny', 'read:.env')).toMatchObject({
      code: 1,
      out: expect.stringContaining('rule `deny read:.env`'),
    });
    expect(await place.run('policy', 'test', 'grep:.env', '--deny', 'read:.env')).toMatchObject({ code: 1 });
    expect(await place.run('policy', 'test', 'edit:src/a', '--deny', 'write:src/*')).toMatchObject({ code: 1 });
    expect(await place.run('policy', 'test', 'write:src/new.ts')).toMatchObject({ code: 0 });
    expect(await place.run('policy', 'test', 'read:link')).toMatchObject({ code: 0 });
  });

  it.runIf(process.platform === 'linux')('says what the sandbox adds', async () => {
    using place = workspace();
    const { code, out } = await place.run('policy', 'test', 'bash:cat .env; echo x > .git/config', '--deny', 'read:.env');
    expect(code).toBe(0);
    expect(out).toContain('it would run in the sandbox: the workspace is writable, `.git` is read-only, the network is closed');
    expect(out).toContain('`.env` is hidden from commands by a rule');
    expect(out).toContain('`.git/config` is protected, so writing it fails');
    const closed = await place.run('policy', 'test', 'bash:make', '--deny', 'write', '--json');
    expect(JSON.parse(closed.out)).toMatchObject({ action: 'allow', notes: [expect.stringContaining('the workspace is read-only')] });
  });

  it('says what happens without a sandbox', async () => {
    using off = createPlace({ runs: [] }, { RETINUE_SANDBOX: 'off' });
    writeFileSync(join(off.folder, '.env'), 'x');
    const asks = await off.run('policy', 'test', 'bash:make', '--deny', 'read:.env');
    expect(asks).toMatchObject({ code: 1, out: expect.stringMatching(/^ask/) });
    expect(asks.out).toContain('there is no sandbox: the command would run as you');
    expect(asks.out).toContain('rules about paths only stop commands that name the path');
    expect(await off.run('policy', 'test', 'bash:cat .env', '--deny', 'read:.env')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^deny/),
    });
    mkdirSync(join(off.folder, '.config/retinue'), { recursive: true });
    writeFileSync(join(off.folder, '.config/retinue/config.json'), '{"rules":["deny read:.env"]}');
    expect((await off.run('agents', 'explain', 'general')).out).toContain('rules about paths only stop commands that name the path');
  });

  it('says that a required sandbox is missing', async () => {
    using place = createPlace({ runs: [] }, { RETINUE_SANDBOX: 'required', PATH: '/nowhere' });
    expect(await place.run('policy', 'test', 'bash:make', '--allow', 'bash')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^deny.*sandbox/),
    });
  });
});
