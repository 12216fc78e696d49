/** Defines the elements, once for a page. */

import { GailouComments } from './element.ts';
import { SCRIPT_ORIGIN } from './script.ts';
import { findWidgets } from './widgets/find-widgets.ts';

if (!customElements.get('gailou-comments')) {
  customElements.define('gailou-comments', GailouComments);
  findWidgets(() =>
    import('./widgets/define-widgets.ts').then(
      ({ defineWidgets }) => defineWidgets(() => SCRIPT_ORIGIN),
      () => undefined,
    ),
  );
}
