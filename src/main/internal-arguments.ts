// First arguments with which the program starts itself. They are not commands: users never type them.

/** Makes the process execute one run for its parent process. */
export const childRunArgument = '--child-run';
/** Makes the process the background process of `run --detach`. */
export const detachedRunArgument = '--detached-run';
