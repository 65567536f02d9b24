// Programs that contact other machines, containers or services. A rule allows plain requests; sending or writing files is unsafe.
import type { ShellWord } from '../read-word.ts';
import { createProgramsLike, type Program, splitList } from './program.ts';

const curlUnsafe =
  splitList(`output remote-name remote-name-all remote-header-name output-dir create-dirs upload-file config cookie-jar dump-header trace trace-ascii
  stderr libcurl etag-save hsts alt-svc netrc-file netrc netrc-optional unix-socket abstract-unix-socket engine write-out proxy preproxy socks5 socks4
  form form-string data-binary data-urlencode data data-raw data-ascii json cookie cert key cacert capath variable proto-default path-as-is
  post301 next quote postquote prequote mail-from mail-rcpt telnet-option doh-url interface dns-servers ftp-port`);

/** Groups that are followed by the actual subcommand: `docker container run`. */
const containerGroups = splitList(
  'container image builder service stack swarm volume network system config secret node manifest trust pod kube play',
);

export const networkTools: Record<string, Program> = {
  curl: { unsafeLetters: 'oOJTKcDnwxFdbEQtPUqCR', valueLetters: 'HXAeumryY', unsafeLong: curlUnsafe, findProblem: checkCurl },
  wget: { alwaysUnsafe: 'it writes files; use curl without -o to show a response' },
  aria2c: { alwaysUnsafe: 'it writes files' },
  ...createProgramsLike('scp sftp ftp', { alwaysUnsafe: 'it copies files to and from other machines' }),
  telnet: { alwaysUnsafe: 'it connects to other machines' },
  ...createProgramsLike('nc netcat', { alwaysUnsafe: 'it connects to other machines, and flags start programs' }),
  docker: {
    unsafeSubcommands: [...splitList('run exec cp build buildx compose create save export import load plugin context'), ...containerGroups],
    runsItsArguments: true,
  },
  podman: {
    unsafeSubcommands: [...splitList('run exec cp build create save export import load unshare machine'), ...containerGroups],
    runsItsArguments: true,
  },
  kubectl: {
    unsafeSubcommands: ['exec', 'cp', 'run', 'debug', 'edit', 'plugin', 'config', 'proxy', 'attach'],
    unsafeLong: ['kubeconfig'],
    runsItsArguments: true,
  },
  crontab: { alwaysUnsafe: 'it starts programs later' },
  ...createProgramsLike('systemctl launchctl', { alwaysUnsafe: 'it starts and stops programs' }),
  gh: { unsafeSubcommands: ['alias', 'extension', 'api', 'codespace', 'config', 'auth', 'ssh-key', 'gpg-key', 'secret'] },
};

/** A header value `@file` sends that file. `--expand-x` is `--x` with variables in its value. */
function checkCurl(words: ShellWord[]): string | null {
  const found = words.find(({ text }) => /^@|^-[a-zA-Z]+@|^--[\w-]+=@|^--(url-|ex)/.test(text));
  return found ? `\`${found.text}\` may send or write a file` : null;
}
