/** What bounds a survey: a huge workspace is surveyed in part, and the report says so. docs/offline-survey.md tells them to users. */

/** Turns with tool calls; one more for the answer. */
export const maxTurns = 5;
/** Tasks of one `delegate` call; the tool takes no more. */
export const maxTasks = 16;
/** Runs that several small folders share where there are too many for one each; at best so many folders in each. */
export const maxGroups = 5;
export const groupFolders = 12;
/** Folders that one run looks at, at most. */
export const maxFolders = 24;

/** Calls in one turn; an answer may have 64. */
export const maxCalls = 60;
export const maxSubfolders = 56;
/** The other calls of that turn list folders, for the sizes of files. */
export const maxGreps = 36;
export const maxReads = 20;
export const maxManifests = 12;

/** With more files than this a folder is searched subfolder by subfolder: an output holds 1,000 lines at most. */
export const splitFiles = 40;
/** Import rules searched for in one folder: its most frequent languages. */
export const maxRules = 3;
/** Lines that are read of a file. */
export const readLines = 60;
/** Of files at the top more is read: they are few. */
export const readTopLines = 120;

/** A child's whole message: below the 16,384 bytes that fit into its parent's conversation by default. */
export const maxMessageBytes = 14_000;
