// The signature between edge and origin, written a second time.

import { createHash, createHmac } from 'node:crypto';

const digest = (text) => createHash('sha256').update(text).digest('hex');
const seconds = () => Math.floor(Date.now() / 1000);

/** The headers that sign a request; `direction` is `edge to origin` or `origin to edge`. */
export function signatureHeaders(secret, direction, request) {
  const { method, path, body = '', client = '', authorization = '', key = '' } = request;
  const time = request.time ?? seconds();
  const hash = digest(body);
  const [token, idempotency] = [authorization, key].map((value) => value && digest(value));
  const lines = [`gailou ${direction}`, time, method, path, client, token, idempotency, hash];
  const signed = createHmac('sha256', secret).update(lines.join('\n')).digest('hex');
  return { 'x-gailou-edge': `t=${time},v2=${signed}`, 'x-gailou-body': hash };
}
