// Checks Dockerfile and deploy/compose.yaml on a machine without Docker: runs the build steps in a plain folder, then starts what the compose file starts,
// as processes on loopback with a PostgreSQL server of their own, and lets a worker drive a run. `--fast` uses this checkout instead of building one.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { startPostgresServer } from '../examples/demo/cluster/postgres-server.ts';

const root = resolve(import.meta.dirname, '..');
const isFast = process.argv.includes('--fast');
const place = mkdtempSync(join(tmpdir(), 'retinue-cluster-'));
const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
const running = [];

function run(command, args, options = {}) {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });
}

async function findPort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return String(port);
}

/** The RUN lines of a stage of the Dockerfile that use npm. */
function readSteps() {
  const stages = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .split(/^FROM .*$/m)
    .slice(1);
  return stages.map((stage) => [...stage.matchAll(/^RUN (npm .*)$/gm)].map(([, line]) => line.split(' && ')[0]));
}

/** Runs the steps of the Dockerfile; returns the command that the image would have. */
function build() {
  if (isFast) return [process.execPath, join(root, 'bin', 'retinue.js')];
  const [steps, [install]] = readSteps();
  const folder = join(place, 'build');
  mkdirSync(folder);
  for (const file of run('git', ['-C', root, 'ls-files', '-z']).split('\0').filter(Boolean))
    cpSync(join(root, file), join(folder, file), { recursive: true });
  const env = { ...process.env, PATH: path };
  for (const step of steps) {
    console.log(`build: ${step}`);
    run('sh', ['-c', step.replace('/tmp', place)], { cwd: folder, env });
  }
  const archive = readdirSync(place).find((name) => name.endsWith('.tgz'));
  console.log(`image: ${install}`);
  run(
    'sh',
    ['-c', install.replace('/tmp/retinue.tgz', join(place, archive)).replace('--global', `--global --prefix ${join(place, 'prefix')}`)],
    { env },
  );
  return [join(place, 'prefix', 'bin', 'retinue')];
}

const folders = { '/etc/retinue': join(place, 'etc'), '/var/lib/retinue': join(place, 'lib'), '/workspace': join(place, 'workspace') };

/** Paths of the container as paths of this check. */
function replacePaths(text) {
  return Object.entries(folders).reduce((replaced, [inside, here]) => replaced.replaceAll(inside, here), String(text));
}

async function startService(name, service, { command, env }) {
  const port = await findPort();
  const [inside] = service.command.map(String).filter((_, index, all) => ['--port', '--health'].includes(String(all[index - 1])));
  const args = service.command.map((word) => (String(word) === inside ? port : replacePaths(word)));
  const child = spawn(command[0], [...command.slice(1), ...args], {
    cwd: folders['/workspace'],
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = new Promise((done) => child.on('exit', (code, signal) => done(code ?? signal)));
  running.push({ name, child, exited });
  const [, ...test] = service.healthcheck.test;
  for (let tries = 0; ; tries++) {
    try {
      run(
        test[0],
        test.slice(1).map((word) => word.replaceAll(inside, port)),
        { env: { PATH: path }, stdio: 'ignore' },
      );
      break;
    } catch (error) {
      if (tries === 100) throw new Error(`${name} is not ready`, { cause: error });
      await sleep(200);
    }
  }
  console.log(`ready: ${name}`);
}

let database = null;
try {
  const command = build();
  const { services } = parse(readFileSync(join(root, 'deploy', 'compose.yaml'), 'utf8'), { merge: true });
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  run('sh', [join(root, 'deploy', 'init.sh'), folders['/etc/retinue']], { stdio: 'inherit' });
  database = await startPostgresServer();
  writeFileSync(join(folders['/workspace'], 'model.json'), JSON.stringify({ runs: [{ steps: [{ text: 'driven by a worker' }] }] }));
  const env = {
    PATH: path,
    HOME: place,
    RETINUE_DB: database.url(),
    RETINUE_ORDER_KEY: replacePaths(services.server.environment.RETINUE_ORDER_KEY),
    RETINUE_MODEL: 'script/model.json',
  };
  for (const [name, service] of Object.entries(services)) if (service.command) await startService(name, service, { command, env });
  const answer = run(command[0], [...command.slice(1), 'run', '--queue', 'go'], { cwd: folders['/workspace'], env });
  if (answer !== 'driven by a worker\n') throw new Error(`the run answered ${JSON.stringify(answer)}`);
  console.log('a queued run was driven by a worker');
  for (const { child } of running) child.kill('SIGTERM');
  const codes = await Promise.all(running.map(({ exited }) => exited));
  if (codes.some((code) => code !== 0)) throw new Error(`exit codes after SIGTERM: ${codes.join(', ')}`);
  console.log('the cluster works as deploy/compose.yaml describes it');
} finally {
  for (const { child } of running) child.kill('SIGKILL');
  await database?.remove();
  rmSync(place, { recursive: true, force: true });
}
