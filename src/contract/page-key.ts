// The second secret of a browser session. Browsers send a cookie of this machine to every port of it, so a cookie alone does not prove that a page
// belongs to the server: the page also sends a key, which it keeps in the storage of its own origin. No schema library here: the browser loads this.

/** The header of a request with a cookie. */
export const pageKeyHeader = 'retinue-page-key';

/** The name of the key in the storage of the page, and in the fragment of the address that the link leads to. */
export const pageKeyName = 'retinue-page-key';
