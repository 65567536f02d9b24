/** Rules for a shell that is only for looking: git commands that show, without the options that write files or start other programs. */
export const readOnlyShellRules: readonly string[] = [
  'deny bash',
  ...['diff', 'log', 'show', 'status', 'blame'].map((verb) => `allow bash:git ${verb} *`),
  ...['--output', '--ext-diff', '--textconv', '--open-files-in-pager'].map((option) => `deny bash:*${option}*`),
];
