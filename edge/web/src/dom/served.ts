/** What the server rendered, inside the element or before the script tag. */
export const SERVED_SELECTOR = 'section.gailou';
