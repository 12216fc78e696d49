/** What the package declares is what the element has: the compiler compares them. */

import type { GailouComments as Built } from '../../../edge/web/src/element.ts';
import type { GailouComments as Declared } from '../index.js';

type Own = Exclude<keyof Declared, keyof HTMLElement>;

/** Fails to compile where a property is missing, or has another type. */
export const declaredOfBuilt = (element: Built): Pick<Declared, Own> => element;
export const builtOfDeclared = (element: Declared): Pick<Built, Own> => element;

/** Fails to compile where the element has a public property that is not declared. */
export const undeclared: Exclude<
  keyof Built,
  keyof Declared | `${string}Callback` | 'attributeChangedCallback'
>[] = [] satisfies never[];
