/** The script tag that loads this file, and the server it came from. */

const current = document.currentScript;

export const SCRIPT: HTMLScriptElement | null =
  current instanceof HTMLScriptElement ? current : null;

export const SCRIPT_ORIGIN: string = SCRIPT?.src ? new URL(SCRIPT.src).origin : location.origin;
