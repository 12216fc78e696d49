/** The code of a mailed link in the address of the page: `#gailou-code=…&gailou-state=…`. */

const CODE_IN_ADDRESS = /^#gailou-code=(\w+)&gailou-state=([\w-]+)$/;

export const hasSignInCode = (): boolean => CODE_IN_ADDRESS.test(location.hash);

/** The code and the state; null where the address has none. */
export function readSignInCode(): { code: string; state: string } | null {
  const [, code = '', state = ''] = CODE_IN_ADDRESS.exec(location.hash) ?? [];
  return code ? { code, state } : null;
}
