/** Plain JSON: the only form in which anything is stored or sent. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
