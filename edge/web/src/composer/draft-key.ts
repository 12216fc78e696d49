/** Where the tab keeps the draft of a form. `scope` names the thread, and the parent or the edited comment. */
export const draftKey = (scope: string): string => `gailou:draft:${scope}`;

export const draftScope = (base: string, subject: string, of = ''): string =>
  `${base}|${subject}|${of}`;
