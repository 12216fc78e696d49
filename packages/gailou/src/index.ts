/** Defines the elements, as `gailou.js` of the server does; what a reader has not used is loaded when it is used. */

import '../../../edge/web/src/define.ts';

export { GailouComments } from '../../../edge/web/src/element.ts';
export { setServer } from '../../../edge/web/src/script.ts';
