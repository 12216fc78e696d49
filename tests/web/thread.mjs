// Runs the tests of what a reader does in a thread in one process, so that they share a browser.

import './reading.test.mjs';
import './writing.test.mjs';
import './composer.test.mjs';
import './thread-search.test.mjs';
import './lists.test.mjs';
import './long-thread.test.mjs';
import './building.test.mjs';
import './live.test.mjs';
import './event-stream.test.mjs';
import './menu.test.mjs';
import './pictures.test.mjs';
import './account.test.mjs';
import './accessibility.test.mjs';
import './safety.test.mjs';
import './challenge.test.mjs';
import './html.test.mjs';
