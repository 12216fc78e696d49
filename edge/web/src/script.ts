/** The server of elements that name none: where this file came from. */
export let SCRIPT_ORIGIN: string = new URL(import.meta.url).origin;

/** For a page that has the element from elsewhere: in a bundle of its own, for example. Without a slash at the end. */
export function setServer(address: string): void {
  SCRIPT_ORIGIN = address.replace(/\/$/, '');
}
