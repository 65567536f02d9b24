/** The word that makes the program the background process of `run --detach`; not for people. */
export const detachedWord = '--detached-run';
