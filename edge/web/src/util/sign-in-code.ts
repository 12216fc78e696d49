/** Whether the address of the page has the code of a mailed link: `#gailou-code=…&gailou-state=…`. */

export const CODE_IN_ADDRESS = /^#gailou-code=(\w+)&gailou-state=([\w-]+)$/;

export const hasSignInCode = (): boolean => CODE_IN_ADDRESS.test(location.hash);
