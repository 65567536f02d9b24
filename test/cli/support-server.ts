// A real `retinue serve` in one folder, and the real program in another that uses it with `--server`.
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPlace, type Finished, type Place, type Running } from './support-process.ts';

export const token = 'a-token-for-tests-with-enough-letters';

export interface ServedPlace extends Disposable {
  /** The folder of the server. */
  place: Place;
  /** Another folder, without configuration, database or model. */
  other: Place;
  url(): string;
  /** Runs a command in the other folder, with `--server`. */
  run(...args: string[]): Promise<Finished>;
  start(...args: string[]): Running;
  /** Starts the server; on the same port as before if it was started before. */
  serve(): Promise<void>;
  /** Ends the server. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

export async function createServedPlace(script: object, config: object = {}): Promise<ServedPlace> {
  const place = createPlace(script);
  const other = createPlace({}, { RETINUE_TOKEN: token, RETINUE_MODEL: '' });
  writeFileSync(join(place.folder, 'retinue.config.json'), JSON.stringify(config));
  writeFileSync(join(place.folder, 'tokens'), `# for tests\n${token} start tester\n`);
  chmodSync(join(place.folder, 'tokens'), 0o600);
  let server: Running | null = null;
  let address = '';
  const served: ServedPlace = {
    ...{ place, other },
    url: () => address,
    start: (...args) => other.start(...args, '--server', address),
    run: (...args) => served.start(...args).finished,
    async serve() {
      const port = address === '' ? '0' : new URL(address).port;
      server = place.start('serve', '--json', '--port', port, '--token-file', 'tokens');
      const [line] = (await server.untilOutput((out) => out.includes('\n'))).split('\n', 1);
      address = (JSON.parse(line as string) as { url: string }).url;
    },
    async stop(signal = 'SIGTERM') {
      server?.process.kill(signal);
      return (server as Running).finished;
    },
    [Symbol.dispose]() {
      place[Symbol.dispose]();
      other[Symbol.dispose]();
    },
  };
  await served.serve();
  return served;
}

/** Nothing of Retinue was created in the folder of the caller. */
export function isUntouched({ folder }: Place): boolean {
  return !existsSync(join(folder, '.retinue')) && !existsSync(join(folder, '.config'));
}
