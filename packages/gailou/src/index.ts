/** Defines the elements, as `gailou.js` of the server does; what a reader has not used is loaded when it is used. */

import '../../../edge/web/src/define.ts';
import { setServer as setScriptServer } from '../../../edge/web/src/script.ts';

export { GailouComments } from '../../../edge/web/src/element.ts';

/** The elements that ask a server as soon as they are defined. */
const BEGUN = ['gailou-comments', 'gailou-latest', 'gailou-bell'].map(
  (name) => `${name}:not([api])`,
);

/** The server of elements that name none, also of those that were on the page before this module. */
export function setServer(address: string): void {
  setScriptServer(address);
  for (const element of document.querySelectorAll(BEGUN.join())) {
    element.setAttribute('api', address);
  }
}
