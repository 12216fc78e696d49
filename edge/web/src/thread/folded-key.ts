/** Where the tab keeps which roots are folded. */
export const foldedKey = (base: string, subject: string): string =>
  `gailou:folded:${base}|${subject}`;
