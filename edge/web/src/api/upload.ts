/** Sends a file with its progress, which `fetch` does not say. */

import { ApiProblem } from './problem.ts';
import { problemFrom } from './problem-from.ts';
import { parseJson } from './transport.ts';

/** As long as the server takes one. */
const UPLOAD_TIMEOUT_MS = 60_000;

export interface Upload {
  file: Blob;
  /** What the picture shows; may be empty. */
  alt: string;
  token: string | null;
  /** Gets the part that is sent, from 0 to 1. */
  onProgress: (part: number) => void;
  signal: AbortSignal;
}

/** Rejects with an `ApiProblem`; it never settles after the abort of `signal`. */
export function sendFile<Data>(
  url: string,
  { file, alt, token, onProgress, signal }: Upload,
): Promise<Data> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', url);
    request.timeout = UPLOAD_TIMEOUT_MS;
    if (token) request.setRequestHeader('Authorization', `Bearer ${token}`);
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / total));
    request.addEventListener('load', () => {
      const { status } = request;
      const data = parseJson(request.responseText);
      if (status >= 200 && status < 300) resolve(data as Data);
      else {
        const headers = { get: (name: string) => request.getResponseHeader(name) };
        reject(problemFrom({ status, headers }, data));
      }
    });
    for (const event of ['error', 'timeout'] as const) {
      request.addEventListener(event, () => reject(new ApiProblem({ detail: event })));
    }
    signal.addEventListener('abort', () => request.abort());
    const form = new FormData();
    if (alt) form.set('alt', alt);
    form.set('file', file);
    request.send(form);
  });
}
