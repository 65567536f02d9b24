// The tables as TypeScript types. migrations.ts creates them.

export interface Tables {
  /** `fence` grows whenever the tree gets another owner. */
  trees: { n: number; root: string; owner: string | null; fence: number };
  runs: {
    n: number;
    id: string;
    tree: number;
    parent: string | null;
    live: boolean;
    /** Encoded (encode.ts). */
    key: string | null;
    seq: number;
    row: string | null;
    /** Proves who wrote the facts. */
    tag: string | null;
  };
  /** `xid`: the transaction that wrote it. Its position is (xid, n). `data` is empty if it was erased. */
  facts: {
    xid: string;
    n: number;
    run: number;
    seq: number;
    tree: number;
    at: string;
    v: number;
    type: string;
    data: string;
    hash: string;
  };
  blobs: { hash: string; content: Buffer; isText: boolean };
  pins: { hash: string; tree: number };
  orders: { n: number; id: string; root: string; text: string; tag: string };
  /** Orders that were carried out or dropped. */
  consumed: { n: number; tree: number; run: string; id: string };
  owners: {
    id: string;
    name: string;
    pid: number;
    started: string | null;
    boot: string | null;
    space: string | null;
    beat: Date;
  };
}
