/** Where the tab keeps what the reader did a moment ago in one thread. */
export const recentKey = (base: string, subject: string): string =>
  `gailou:recent:${base}|${subject}`;
