/** Puts an element where the script tag asks for one. */

import { SERVED_SELECTOR } from './dom/served.ts';

const PASSED_ATTRIBUTES = [
  'subject',
  'lang',
  'theme',
  'sort',
  'token',
  'live',
  'loading',
  'keys',
  'emoji',
];

/**
 * Mounts the comments of `data-subject`: around what the server rendered of this subject, else
 * after the script tag, else at the end of the page. An empty one is the page's own. Without `data-subject` it does nothing.
 * `onPlaced` gets the element when it is on the page.
 */
export function mount(
  script: HTMLScriptElement,
  server: string,
  onPlaced: (element: HTMLElement) => void,
): void {
  if (script.dataset.subject === undefined) return;
  const element = document.createElement('gailou-comments');
  // Another script on the page may have defined the element, for another server.
  element.setAttribute('api', script.dataset.api || server);
  for (const name of PASSED_ATTRIBUTES) {
    const value = script.dataset[name];
    if (value) element.setAttribute(name, value);
  }
  const isInHead = document.head.contains(script);
  const place = () => {
    placeElement(element, script, isInHead);
    onPlaced(element);
  };
  if (document.body && !isInHead) place();
  else document.addEventListener('DOMContentLoaded', place);
}

function placeElement(element: HTMLElement, script: HTMLScriptElement, isInHead: boolean): void {
  const served = findServed(script.dataset.subject);
  if (served) {
    const mark = document.createComment('');
    served.replaceWith(mark);
    element.append(served);
    mark.replaceWith(element);
  } else if (isInHead) {
    document.body.append(element);
  } else {
    script.after(element);
  }
}

function findServed(subject: string | undefined): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>(SERVED_SELECTOR)].find(
    (each) => each.dataset.subject === subject && !each.closest('gailou-comments'),
  );
}
