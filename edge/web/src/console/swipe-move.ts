/** What the movement of a finger means. Pure. */

export type SwipeDirection = 'right' | 'left';

/** So far a finger goes before it is a movement at all. */
const SLOP_PX = 10;
/** So far it goes to carry something out. */
const SWIPE_PX = 96;
/** How much more it goes aside than up or down: else it scrolls. */
const SLANT = 1.5;

export interface Move {
  x: number;
  y: number;
}

/** Whether the movement goes aside, so that it can become a swipe. */
export const isSideways = ({ x, y }: Move): boolean =>
  Math.abs(x) > SLOP_PX && Math.abs(x) > Math.abs(y) * SLANT;

export const directionOf = ({ x }: Move): SwipeDirection => (x > 0 ? 'right' : 'left');

/** Whether a finger that is lifted here has gone far enough. */
export const isFarEnough = ({ x }: Move): boolean => Math.abs(x) >= SWIPE_PX;
