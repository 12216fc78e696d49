/** Text of another direction inside a sentence. */

/** A name or an address that does not change the order of the words around it. */
export const isolate = (text: string): string => `\u2068${text}\u2069`;
