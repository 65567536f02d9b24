// The rows of the tree of runs, as all screens list them.
export { listRows, type RowOptions, shownStatus, type TreeRow } from '../../views/tree-rows.ts';
