/** Loads the forms; a second call costs nothing. */

import type * as Forms from './forms.ts';

export const loadForms = (): Promise<typeof Forms> => import('./forms.ts');
