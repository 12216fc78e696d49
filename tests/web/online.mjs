// Runs all tests that need the origin in one process, so that they share a browser.

import './reading.test.mjs';
import './writing.test.mjs';
import './accessibility.test.mjs';
import './safety.test.mjs';
import './live.test.mjs';
import './event-stream.test.mjs';
import './html.test.mjs';
import './pictures.test.mjs';
import './account.test.mjs';
import './console.mjs';
import './challenge.test.mjs';
import './languages.test.mjs';
import './widgets.test.mjs';
import './sites.test.mjs';
import './element.test.mjs';
import './loading.test.mjs';
import './frameworks.test.mjs';
import './packages.test.mjs';
import './host-pages.test.mjs';
import './passkeys.test.mjs';
import './first-day.test.mjs';
import './two-sites.test.mjs';
