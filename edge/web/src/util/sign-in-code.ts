/** Whether the address of the page has the code of a mailed link: `#gailou-code=…&gailou-state=…`. */
export const hasSignInCode = (): boolean => location.hash.startsWith('#gailou-code=');
