/** Where the tab keeps which comments have folded replies. */
export const foldedKey = (base: string, subject: string): string =>
  `gailou:folded:${base}|${subject}`;
