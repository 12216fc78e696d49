/** Where the ids are stored of the authors whose comments the reader does not want to see on this site. */

/** `base` is the address of the server. There is nothing while no author is muted. */
export const mutedKey = (base: string): string => `gailou:muted:${base}`;
