/** The server that this file came from. */
export const SCRIPT_ORIGIN: string = new URL(import.meta.url).origin;
