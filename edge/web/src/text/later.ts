/** Completes the English texts, for the parts that use all of them. */

import { en } from './en.ts';
import { enLater } from './en-later.ts';

const errors = { ...en.errors, ...enLater.errors };
Object.assign(en, enLater, { errors });
