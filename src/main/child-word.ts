/** The word that makes the program the process of a run; not for people. */
export const childWord = '--child-run';
