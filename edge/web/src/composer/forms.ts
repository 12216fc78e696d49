/** The forms that a reader writes in. They are loaded when one is used. */

import '../text/later.ts';
import css from '../style/forms.css';
import { addStyles } from '../style/style-sheet.ts';

export { Composer } from './composer.ts';

addStyles(css);
