/** One tab stop for all controls of a comment; the arrow keys go from one to the next (`thread/keys.ts`). */

const CONTROL_SELECTOR =
  '.head button, .head a, .answer a, .answer button, .bld a, .bld button:not(form *), ' +
  '.unfold, .actions button';

/**
 * The controls of a comment that can be used now, in their order, with those of the floors below it. Links in its own text
 * are not among them.
 */
export function controlsOf(comment: HTMLElement): HTMLElement[] {
  return [...comment.querySelectorAll<HTMLElement>(CONTROL_SELECTOR)].filter(
    (control) => !control.closest('[hidden], :disabled, .deleted .answer'),
  );
}

/** Makes `wanted` the tab stop, else the control that is it, else the first action. */
export function setTabStop(comment: HTMLElement, wanted?: HTMLElement): void {
  const controls = controlsOf(comment);
  const stop =
    wanted ??
    controls.find((control) => control.tabIndex === 0 && control.hasAttribute('tabindex')) ??
    controls.find((control) => control.matches('.actions .act')) ??
    controls[0];
  for (const control of comment.querySelectorAll<HTMLElement>(CONTROL_SELECTOR)) {
    control.tabIndex = control === stop ? 0 : -1;
  }
}

/** The controls inside `node` have changed: its comment still has one stop. */
export function keepTabStop(node: HTMLElement): void {
  const comment = node.closest('article');
  if (comment) setTabStop(comment);
}
