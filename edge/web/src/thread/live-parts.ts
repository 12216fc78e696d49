/** What `live.ts` loads. */

export { Arrivals } from './arrivals.ts';
export { LiveStream } from './live-stream.ts';
