/** The windows of a reader's account. Few readers open one, so this is a script of its own, loaded when one is opened. */

export { openNotifications } from './notifications.ts';
export { openPanel } from './panel.ts';
export { openSignIn } from './sign-in.ts';
