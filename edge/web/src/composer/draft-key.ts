/** Where the tab keeps the draft of a form. `scope` names the thread and the parent. */
export const draftKey = (scope: string): string => `gailou:draft:${scope}`;

export const draftScope = (base: string, subject: string, parentId = ''): string =>
  `${base}|${subject}|${parentId}`;
