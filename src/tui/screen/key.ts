/** A printable character, or the name of another key: `up`, `enter`, `ctrl-c`, … */
export type Key = string;
