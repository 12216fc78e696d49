/** Parameters of an address. */
export function encodeQuery(query: object): string {
  const entries = Object.entries(query).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams(entries).toString();
}
