// A repository that a brief names. The form is strict, because git could take other text for an option, a program to start or a secret.
import { z } from 'zod';

const maxLength = 2000;

/** Why git must not get this address; null if it may. An address never has a password or a token: facts and processes would show it. */
function findUrlProblem(url: string): string | null {
  if (url.length > maxLength) return `must be at most ${maxLength} characters`;
  if (/[\s\p{Cc}\\"'`]/u.test(url)) return 'must not contain blanks, quotes, backslashes or control characters';
  if (url.startsWith('-')) return 'must not begin with `-`';
  if (/^file:\/\//.test(url))
    return /^file:\/\/\/[^%?#]+$/.test(url) ? null : 'must name a path of this machine, such as `file:///srv/project`';
  const [, scheme, authority] = /^([a-z+]+):\/\/([^/]*)\//.exec(url) ?? [];
  if (scheme !== undefined && authority !== undefined) return findAddressProblem(scheme, authority, url);
  // As git reads it: `user@host:path`, where a second colon would name a program.
  if (/^([\w.~][\w.~-]*@)?[\w.][\w.-]*:(?!:)[^-][^?#]*$/.test(url)) return null;
  return 'must begin with `https://`, `ssh://`, `git://`, `http://` or `file://`, or have the form `user@host:path`';
}

function findAddressProblem(scheme: string, authority: string, url: string): string | null {
  if (!['https', 'http', 'ssh', 'git'].includes(scheme)) return `the protocol ${scheme} is not supported; use https or ssh`;
  const secret = 'must not contain a user name, password or token; configure a credential helper of git, or use ssh';
  if (scheme !== 'ssh' && authority.includes('@')) return secret;
  if (/:.*@/.test(authority) || /[?#]/.test(url)) return secret;
  const host = authority.replace(/^[^@]*@/, '');
  return /^(\w[\w.-]*|\[[\da-f:.]+\])(:\d+)?$/i.test(host) && !authority.startsWith('-') ? null : 'has no valid host';
}

/** Why this is no name of a branch, tag or commit; null if it may be one. */
function findRefProblem(ref: string): string | null {
  if (ref.startsWith('-')) return 'must not begin with `-`';
  if (ref.length > 255) return 'must be at most 255 characters';
  const isName = !/[\s\p{Cc}~^:?*[\\]|\.\.|@\{|\/\/|\/\.|^[/.@]|[/.]$|\.lock(\/|$)/u.test(ref) && ref !== '';
  return isName ? null : 'must be the name of a branch or tag, or the full hash of a commit';
}

const fails = (find: (text: string) => string | null) => (text: string, context: z.RefinementCtx) => {
  const problem = find(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
};

/** `url` or `path`: where the repository is; `path` is a folder of the machine that drives the run. `ref`: HEAD if absent. */
export const Repository = z
  .strictObject({
    url: z.string().superRefine(fails(findUrlProblem)).optional(),
    path: z
      .string()
      .max(4096)
      .regex(/^\/[^\0]*$/, 'must be an absolute path')
      .optional(),
    ref: z.string().superRefine(fails(findRefProblem)).optional(),
  })
  .refine(({ url, path }) => (url === undefined) !== (path === undefined), 'needs either `url` or `path`');
export type Repository = z.infer<typeof Repository>;
