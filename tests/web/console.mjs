// Runs the tests of the moderators' page in one process, so that they share a browser.

import './console.test.mjs';
import './console-decisions.test.mjs';
import './console-members.test.mjs';
import './console-numbers.test.mjs';
import './console-rejected.test.mjs';
import './console-search.test.mjs';
import './console-transfer.test.mjs';
import './console-webhooks.test.mjs';
import './console-threads.test.mjs';
import './console-live.test.mjs';
import './console-day.test.mjs';
