import type { Verb } from './program.ts';

const curlWrites =
  `output remote-name remote-name-all remote-header-name output-dir create-dirs upload-file config cookie-jar dump-header trace trace-ascii
  stderr libcurl etag-save hsts alt-svc netrc-file netrc netrc-optional unix-socket abstract-unix-socket engine write-out proxy preproxy socks5 socks4
  form form-string data-binary data-urlencode data data-raw data-ascii json cookie cert key cacert capath variable proto-default path-as-is
  post301 next quote postquote prequote mail-from mail-rcpt telnet-option doh-url interface dns-servers ftp-port`.split(/\s+/);

/** Behind these stands what is done: `docker container run`. */
const groups = 'container image builder service stack swarm volume network system config secret node manifest trust pod kube play'.split(
  ' ',
);

/** Programs that speak to others. A pattern allows plain requests; what sends or writes files is said aloud. */
export const network: Record<string, Verb> = {
  curl: { short: 'oOJTKcDnwxFdbEQtPUqCR', values: 'HXAeumryY', long: curlWrites, check: curl },
  wget: { always: 'it writes files; curl without -o shows what it gets' },
  aria2c: { always: 'it writes files' },
  scp: { always: 'it copies files to and from other machines' },
  sftp: { always: 'it copies files to and from other machines' },
  ftp: { always: 'it copies files to and from other machines' },
  telnet: { always: 'it connects to other machines' },
  nc: { always: 'it connects to other machines, and flags start programs' },
  netcat: { always: 'it connects to other machines, and flags start programs' },
  docker: {
    first: [
      'run',
      'exec',
      'cp',
      'build',
      'buildx',
      'compose',
      'create',
      'save',
      'export',
      'import',
      'load',
      'plugin',
      'context',
      ...groups,
    ],
    wraps: true,
  },
  podman: {
    first: ['run', 'exec', 'cp', 'build', 'create', 'save', 'export', 'import', 'load', 'unshare', 'machine', ...groups],
    wraps: true,
  },
  kubectl: { first: ['exec', 'cp', 'run', 'debug', 'edit', 'plugin', 'config', 'proxy', 'attach'], long: ['kubeconfig'], wraps: true },
  crontab: { always: 'it starts programs later' },
  systemctl: { always: 'it starts and stops programs' },
  launchctl: { always: 'it starts and stops programs' },
  gh: { first: ['alias', 'extension', 'api', 'codespace', 'config', 'auth', 'ssh-key', 'gpg-key', 'secret'] },
};

/** `@file` as the value of a header sends that file; `--expand-x` is `--x` with variables in it. */
function curl(words: { text: string }[]): string | null {
  const odd = words.find(({ text }) => /^@|^-[a-zA-Z]+@|^--[\w-]+=@|^--(url-|ex)/.test(text));
  return odd ? `\`${odd.text}\` may send or write a file` : null;
}
