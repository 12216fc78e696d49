/** What `live.ts` loads. */

import '../text/later.ts';

export { Arrivals } from './arrivals.ts';
export { LiveStream } from './live-stream.ts';
