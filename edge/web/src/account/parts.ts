/** What a reader with an account, or one who signs in, needs. Few do, so it is loaded when it is asked for. */

import '../text/later.ts';
import css from '../style/account.css';
import { addStyles } from '../style/style-sheet.ts';

export { openNotifications } from './notifications.ts';
export { openPanel } from './panel.ts';
export { AccountSession } from './session.ts';
export { openSignIn } from './sign-in.ts';
export { ThreadBell as Bell } from './thread-bell.ts';

addStyles(css);
