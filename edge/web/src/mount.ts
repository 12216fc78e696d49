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

/** With one of these the page says itself what it shows of the comments, and where. */
const OWN_ELEMENTS = 'gailou-comments,gailou-count,gailou-latest,gailou-bell,[data-gailou-count]';

/**
 * Mounts the comments of `data-subject`: around what the server rendered of this subject, else
 * after the script tag, else at the end of the page. An empty one is the page's own, and so is none, of a script in the
 * body of a page that has no element of ours.
 * `onPlaced` gets the element when it is on the page.
 */
export function mount(
  script: HTMLScriptElement,
  server: string,
  onPlaced: (element: HTMLElement) => void,
): void {
  const isAsked = script.dataset.subject !== undefined;
  const isInHead = document.head.contains(script);
  if (!isAsked && isInHead) return;
  const element = document.createElement('gailou-comments');
  // Another script on the page may have defined the element, for another server.
  element.setAttribute('api', script.dataset.api || server);
  for (const name of PASSED_ATTRIBUTES) {
    const value = script.dataset[name];
    if (value) element.setAttribute(name, value);
  }
  const place = () => {
    if (!isAsked && document.querySelector(OWN_ELEMENTS)) return;
    placeElement(element, script, isInHead);
    onPlaced(element);
  };
  if (document.readyState !== 'loading' || (isAsked && !isInHead)) place();
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
