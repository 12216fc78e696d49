/** The forms that a reader writes in. They are loaded when one is used. */

export { Composer } from './composer.ts';
export { askGuestName } from './guest-name.ts';
