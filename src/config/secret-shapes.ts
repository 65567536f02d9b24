// Strings that are almost certainly credentials, recognised by shape. Every shape has a fixed prefix and a length: a string that only looks
// random is usually a hash, and removing it would damage the result.

const start = '(?<![A-Za-z0-9_])';

const prefixed: [prefix: string, rest: string][] = [
  // Anthropic, OpenAI and providers with the same form. Requires a digit and a capital, because CSS class names start with `sk-` too.
  ['sk-(?=[\\w-]{0,60}\\d)(?=[\\w-]{0,60}[A-Z])', '[A-Za-z0-9_-]{20,}'],
  // GitHub, GitLab
  ['gh[pousr]_', '[A-Za-z0-9]{30,}'],
  ['github_pat_', '[A-Za-z0-9_]{40,}'],
  ['gl(?:pat|ptt|dt|rt|soat|ft|imt|agent|cbt)-', '[A-Za-z0-9_-]{20,}'],
  // Amazon, Google, Azure, DigitalOcean
  ['(?:AKIA|ASIA)', '[0-9A-Z]{16}(?![0-9A-Za-z])'],
  ['AIza', '[0-9A-Za-z_-]{35}'],
  ['ya29\\.', '[0-9A-Za-z_-]{20,}'],
  ['GOCSPX-', '[0-9A-Za-z_-]{20,}'],
  ['1//0[0-9]', '[0-9A-Za-z_-]{40,}'],
  ['(?:AccountKey|SharedAccessKey)=', '[A-Za-z0-9+/]{43,88}={0,2}'],
  ['[A-Za-z0-9_~.]{3}[78]Q~', '[A-Za-z0-9_~.-]{31,34}'],
  ['do[opr]_v1_', '[a-f0-9]{64}'],
  // Slack, Telegram, Discord
  ['xox[abeoprs]-', '[A-Za-z0-9-]{10,}'],
  ['xapp-', '\\d-[A-Z0-9]+-\\d+-[a-f0-9]{20,}'],
  ['hooks\\.slack\\.com/(?:services|workflows)/', '[A-Za-z0-9/]{30,}'],
  ['\\d{8,10}:AA', '[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])'],
  ['[MNO][A-Za-z\\d_-]{23,25}\\.', '[A-Za-z\\d_-]{6}\\.[A-Za-z\\d_-]{27,}'],
  // Stripe, Shopify, Square, SendGrid
  ['(?:sk|rk)_(?:live|test)_', '[A-Za-z0-9]{16,}'],
  ['whsec_', '[A-Za-z0-9+/=]{24,}'],
  ['shp(?:at|ca|pa|ss)_', '[a-fA-F0-9]{32}'],
  ['sq0(?:atp|csp)-', '[A-Za-z0-9_-]{22,}'],
  ['SG\\.', '[A-Za-z0-9_-]{20,24}\\.[A-Za-z0-9_-]{39,50}'],
  // Package registries and model providers
  ['npm_', '[A-Za-z0-9]{36}'],
  ['pypi-AgE', '[A-Za-z0-9_-]{50,}'],
  ['dckr_pat_', '[A-Za-z0-9_-]{20,}'],
  ['(?:hf|api_org)_', '[A-Za-z]{30,}'],
  ['r8_', '[A-Za-z0-9]{37}'],
  ['gsk_', '[A-Za-z0-9]{40,}'],
  ['(?:xai|pplx)-', '[A-Za-z0-9]{40,}'],
  // Others
  ['hv[sbr]\\.', '[A-Za-z0-9_-]{24,}'],
  ['dapi', '[a-f0-9]{32}(?![a-f0-9])'],
  ['lin_api_', '[A-Za-z0-9]{40}'],
  ['AGE-SECRET-KEY-1', '[0-9A-Z]{50,}'],
  // A JWT: three base64 parts, of which the first two are JSON.
  ['eyJ', '[A-Za-z0-9_-]{10,2000}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}'],
];

/** Up to its end marker, or as far as it goes: a truncated key is still a key. */
const privateKey =
  '-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[\\sA-Za-z0-9+/=:,.()\\\\]|-(?!-))*(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?';
const awsSecret =
  '(?<=(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|SecretAccessKey)["\']?\\s{0,5}[=:]\\s{0,5}["\']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])';

const shapes = new RegExp(`${privateKey}|${awsSecret}|${start}(?:${prefixed.map((parts) => parts.join('')).join('|')})`, 'g');

export function redactSecretShapes(text: string): string {
  return redactKeyLines(text.replace(shapes, '[secret]'));
}

/** A line of a private key file, alone or with the line number that the `read` tool puts before it. */
const keyLine = '(?: *\\d+\\t)?(?=[A-Za-z+/]*\\d)(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70})';
const keyLines = new RegExp(`(?<=^|\\n)${keyLine}(?:\\r?\\n${keyLine})+(?=\\r?\\n|$)`, 'g');

/** Removes the middle of a private key, which is left when its file is read in slices. Certificates and public keys with their first line stay. */
function redactKeyLines(text: string): string {
  return text.replace(keyLines, (lines, offset: number) => {
    const begin = text.lastIndexOf('-----BEGIN ', offset);
    return begin > text.lastIndexOf('-----END ', offset) ? lines : '[secret]';
  });
}
