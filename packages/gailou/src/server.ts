/** For a server that renders pages: there are no elements, and what is imported does nothing. */

export const GailouComments = undefined;

export function setServer(): void {
  // The browser's copy of the module has a server.
}
