/** Defines the elements, once for a page. */

import { GailouComments } from './element.ts';
import { SCRIPT_ORIGIN } from './script.ts';

if (!customElements.get('gailou-comments')) {
  customElements.define('gailou-comments', GailouComments);
  // The comments do not wait for what is beside them.
  import('./widgets/define-widgets.ts').then(
    ({ defineWidgets }) => defineWidgets(() => SCRIPT_ORIGIN),
    () => undefined,
  );
}
